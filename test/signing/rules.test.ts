import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { stringToSign, trimValue } from '../../src/signing/canonical.ts';
import { parseDate, stampOf } from '../../src/signing/date.ts';
import { DayKeyCache } from '../../src/signing/day-key.ts';
import { DIALECTS } from '../../src/signing/dialect.ts';
import { HmacKey } from '../../src/signing/hmac.ts';
import { sign } from '../../src/signing/sign.ts';
import { MAX_CLOCK_DEVIATION, type ReceivedRequest, verify } from '../../src/signing/verify.ts';
import { Keypair } from '../../src/tenant.ts';

const keypair = new Keypair('AKIAEXAMPLE', new Secret('secret'));
const lookup = (accessKey: string) => (accessKey === keypair.accessKey ? keypair : undefined);
const request = {
  method: 'POST',
  uri: '/v2/x?a=1',
  host: 'api.service.example',
  contentType: 'application/json; charset=utf-8',
  version: 'v4.20190315',
  bodyHash: 'ab'.repeat(32),
};

describe('dates', () => {
  const instant = Date.UTC(2026, 2, 15, 1, 2, 3);
  it.each([
    '2026-03-15T01:02:03Z',
    '20260315T010203Z',
    '2026-03-15T01:02:03',
    '2026-03-15 01:02:03',
    '2026-03-15T01:02:03.000Z',
    '2026-03-15T10:02:03+09:00',
    '2026-03-15T10:02:03+0900',
    '2026-03-14T20:02:03-05',
    'Sun, 15 Mar 2026 01:02:03 GMT',
    'Sun, 15 Mar 2026 10:02:03 +0900',
    '15 Mar 26 01:02:03 UT',
    '15 Mar 2026 01:02:03',
  ])('%s is read as the instant it means', (text) => {
    expect(parseDate(text)).toBe(instant);
  });

  it.each([
    '',
    'now',
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-03-15',
    '2026-03-15T25:00:00Z',
    '1742000000',
    '15 Foo 2026 01:02:03 GMT',
    '2026-03-15T01:02:03Zx',
  ])('%j is no date', (text) => {
    expect(parseDate(text)).toBeUndefined();
  });

  it('any instant survives being stamped and read, to the second', () => {
    fc.assert(
      fc.property(fc.integer({ min: Date.UTC(1000, 0), max: Date.UTC(9999, 11, 31) }), (at) => {
        const { basic, day } = stampOf(at);
        expect(parseDate(basic)).toBe(Math.floor(at / 1000) * 1000);
        expect(basic.startsWith(`${day}T`)).toBe(true);
      }),
    );
  });
});

describe('canonical form', () => {
  it('trims LF, CR, space and tab, and nothing else that Unicode calls a space', () => {
    expect(trimValue(' \t\r\nx y\n ')).toBe('x y');
    expect(trimValue('\u00a0x\u2003')).toBe('\u00a0x\u2003');
  });

  it('signs the content type in full, or its media type in lower case, as the dialect says', () => {
    const of = (dialect: keyof typeof DIALECTS) =>
      stringToSign(DIALECTS[dialect], { ...request, contentType: 'Application/JSON; a=b' }, 'D').split('\n');
    expect(of('service')[4]).toBe('content-type:Application/JSON; a=b');
    expect(of('backend.ai')[4]).toBe('content-type:application/json');
    expect(of('service')[6]).toBe(request.bodyHash);
    expect(of('backend.ai')[6]).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  });
});

describe('HMAC over blocks laid out in advance', () => {
  it('is the HMAC of node:crypto, for any key of a digest’s length and any text', () => {
    const keys = fc.uint8Array({ minLength: 32, maxLength: 32 });
    const texts = fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.constant('한글 é'.repeat(2000)));
    fc.assert(
      fc.property(keys, texts, texts, (key, first, second) => {
        const hmac = new HmacKey(Buffer.from(key));
        for (const text of [first, second, first]) {
          expect(hmac.hex(text)).toBe(createHmac('sha256', key).update(text, 'utf8').digest('hex'));
        }
      }),
    );
  });
});

describe('the day-key cache', () => {
  it('is bounded, keeps one key per keypair and host, and never gives one of another day or secret', () => {
    const cache = new DayKeyCache(3);
    const key = cache.get('A', 'secret', '20260315', 'h');
    expect(cache.get('A', 'secret', '20260315', 'h')).toBe(key);
    expect(cache.get('A', 'secret', '20260316', 'h')).not.toBe(key);
    expect(cache.get('A', 'rotated', '20260316', 'h')).not.toBe(key);
    expect(cache.size).toBe(1);
    for (let i = 0; i < 100; i++) cache.get('A', 'secret', '20260315', `host-${i}`);
    expect(cache.size).toBe(3);
  });
});

describe('verify', () => {
  const now = Date.UTC(2026, 2, 15, 12);
  const signed = (at = now): ReceivedRequest => {
    const { date, authorization } = sign(DIALECTS.service, new DayKeyCache(), keypair, request, at);
    return { ...request, date, authorization };
  };
  const reason = (received: ReceivedRequest, clock: number | undefined = now) => {
    const verdict = verify(DIALECTS.service, new DayKeyCache(), lookup, received, clock);
    return verdict.ok ? 'ok' : verdict.reason;
  };

  it.each([
    ['to the second', 0, 'ok'],
    ['15 minutes behind', -MAX_CLOCK_DEVIATION, 'ok'],
    ['15 minutes ahead', MAX_CLOCK_DEVIATION, 'ok'],
    ['a second more behind', -MAX_CLOCK_DEVIATION - 1000, 'clock-skew'],
    ['a second more ahead', MAX_CLOCK_DEVIATION + 1000, 'clock-skew'],
  ])('a clock %s', (_name, off, expected) => {
    expect(reason(signed(now + off))).toBe(expected);
  });

  it.each([
    ['no header', { authorization: undefined }, 'authorization-missing'],
    ['another scheme', { authorization: 'Bearer x' }, 'authorization-malformed'],
    [
      'another method of signing',
      { authorization: 'Service signMethod=HMAC-MD5, credential=A:00' },
      'authorization-malformed',
    ],
    ['no date', { date: undefined }, 'date-missing'],
    ['a date that is none', { date: 'yesterday' }, 'date-invalid'],
    ['no version', { version: '' }, 'version-missing'],
  ])('%s', (_name, change, expected) => {
    expect(reason({ ...signed(), ...change })).toBe(expected);
  });

  it('takes the scheme in any case, and a date in another form of the same second', () => {
    const received = signed();
    expect(reason({ ...received, authorization: received.authorization?.replace('Service', 'SERVICE') })).toBe('ok');
    expect(reason({ ...received, date: 'Sun, 15 Mar 2026 12:00:00 GMT' })).toBe('ok');
  });

  it('no change of any covered value goes unseen', () => {
    const fields = fc.constantFrom('method', 'uri', 'host', 'contentType', 'version', 'bodyHash') as fc.Arbitrary<
      keyof typeof request
    >;
    fc.assert(
      fc.property(fields, fc.string({ minLength: 1 }), (field, tail) => {
        const changed = request[field] + tail;
        fc.pre(trimValue(changed) !== request[field]);
        expect(reason({ ...signed(), [field]: changed })).toBe('signature-mismatch');
      }),
    );
  });
});

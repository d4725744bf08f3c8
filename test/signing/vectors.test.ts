import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { stringToSign } from '../../src/signing/canonical.ts';
import { parseDate, stampOf } from '../../src/signing/date.ts';
import { DayKeyCache, deriveSigningKey } from '../../src/signing/day-key.ts';
import type { Dialect } from '../../src/signing/dialect.ts';
import { sign } from '../../src/signing/sign.ts';
import { verify } from '../../src/signing/verify.ts';
import { Keypair } from '../../src/tenant.ts';
import { vendorAuthorization, vendorClient, vendorStringToSign } from '../kit/vendor-signature.ts';

interface Vector {
  name: string;
  request: {
    method: string;
    uri: string;
    date: string;
    host: string;
    contentType: string;
    version: string;
    bodyBase64: string;
  };
  keypair: { accessKey: string; secretKey: string };
  brand: { headerPrefix: string; scheme: string };
  expected: {
    dateStamp: string;
    bodyHash: string;
    signingKey: string;
    stringToSign: string;
    signature: string;
    authorization: string;
  };
}

const vectors = JSON.parse(readFileSync(new URL('../vectors/signing.json', import.meta.url), 'utf8')) as Vector[];

it('has all 25 vectors of the other implementation', () => {
  expect(vectors).toHaveLength(25);
});

describe.each(vectors.map((vector) => [vector.name, vector] as const))('%s', (_name, vector) => {
  const dialect: Dialect = { ...vector.brand, bodyHash: 'body', contentType: 'full', dateLine: 'basic' };
  const keypair = new Keypair(vector.keypair.accessKey, new Secret(vector.keypair.secretKey));
  const bodyHash = createHash('sha256').update(Buffer.from(vector.request.bodyBase64, 'base64')).digest('hex');
  const request = { ...vector.request, bodyHash };
  const instant = parseDate(vector.request.date) ?? Number.NaN;

  it('derives the same values at every step', () => {
    const stamp = stampOf(instant);
    expect(stamp.basic).toBe(vector.expected.dateStamp);
    expect(bodyHash).toBe(vector.expected.bodyHash);
    expect(deriveSigningKey(vector.keypair.secretKey, stamp.day, request.host).toString('hex')).toBe(
      vector.expected.signingKey,
    );
    expect(stringToSign(dialect, request, stamp.basic)).toBe(vector.expected.stringToSign);
  });

  it('signs to the same header', () => {
    expect(sign(dialect, new DayKeyCache(), keypair, request, instant)).toEqual({
      date: vector.expected.dateStamp,
      authorization: vector.expected.authorization,
    });
  });

  it('verifies the other implementation’s header, and not one that differs in a digit', () => {
    const lookup = (accessKey: string) => (accessKey === keypair.accessKey ? keypair : undefined);
    const received = { ...request, authorization: vector.expected.authorization };
    expect(verify(dialect, new DayKeyCache(), lookup, received, instant)).toEqual({ ok: true, keypair });
    const last = vector.expected.authorization.at(-1) === '0' ? '1' : '0';
    const forged = { ...received, authorization: vector.expected.authorization.slice(0, -1) + last };
    expect(verify(dialect, new DayKeyCache(), lookup, forged, instant)).toEqual({
      ok: false,
      reason: 'signature-mismatch',
    });
  });

  describe('by the client library of the vendor of such a Service', () => {
    // It leaves it to its user to trim, and to say which instant a date means.
    const covered = {
      method: request.method,
      target: request.uri,
      host: request.host.trim(),
      contentType: request.contentType.trim(),
      version: request.version.trim(),
      date: new Date(request.date),
      dateLine: vector.expected.dateStamp,
      body: Buffer.from(request.bodyBase64, 'base64'),
    };

    it('has the same key, string to sign and signature, but that it writes its own brand into the string', () => {
      const client = vendorClient(vector.keypair, covered.host, covered.version);
      const key = client.getSignKey(vector.keypair.secretKey, covered.date);
      expect(Buffer.from(key, 'latin1').toString('hex')).toBe(vector.expected.signingKey);
      const versionLine = `\n${vector.brand.headerPrefix.toLowerCase()}version:`;
      expect(vendorStringToSign(client, covered)).toBe(
        vector.expected.stringToSign.replace(versionLine, '\nx-backendai-version:'),
      );
      expect(client.sign(key, 'binary', vector.expected.stringToSign, 'hex')).toBe(vector.expected.signature);
    });

    it('has the same header as ours, under its brand', () => {
      const branded = { ...dialect, headerPrefix: 'X-BackendAI-', scheme: 'BackendAI' };
      const ours = sign(branded, new DayKeyCache(), keypair, request, instant);
      expect(ours.authorization).toBe(vendorAuthorization(vector.keypair, covered));
    });
  });
});

import { describe, expect, it } from 'vitest';
import { bodyFormat, requireContentType } from '../../src/policy/content-type.ts';
import { inbound, problemOf, refusal, route } from './fixture.ts';

const json = route('/v2');
const uploads = route('/v2', {
  contentTypes: new Set(['application/json', 'application/x-www-form-urlencoded', 'image/*']),
});

function judge(headers: readonly string[], of = json, hasBody = true): void {
  requireContentType(inbound({ headers }), of, hasBody);
}

describe('the Content-Type of a body', () => {
  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json ; charset=utf8 ; profile="a;b\\"c"',
    'application/json;',
  ])('may be %s', (value) => {
    expect(() => judge(['Content-Type', value])).not.toThrow();
  });

  it.each([
    'text/plain',
    'application/jsonp',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=application/json',
    'text/plain; application/json',
    'application/json, text/plain',
    'application/json text/plain',
    'application/json; charset',
    'application/json; a="',
    'application/json; =b',
    'application',
    '/json',
    ' ',
    '',
  ])('may not be %j', (value) => {
    expect(refusal(() => judge(['Content-Type', value]))).toBe('unsupported-media-type');
  });

  it('tells what the route takes', () => {
    expect(problemOf(() => judge(['Content-Type', 'text/plain'])).detail).toContain('application/json');
  });

  // In another charset the bytes that are judged here are other letters there: UTF-7 and UTF-16 hide any name.
  it.each(['utf-16', 'UTF-7', 'iso-8859-1', '"utf-16"', 'utf-8x', '""', '"utf-8\\"'])(
    'may not name the charset %s',
    (charset) => {
      expect(refusal(() => judge(['Content-Type', `application/json; charset=${charset}`]))).toBe(
        'unsupported-media-type',
      );
    },
  );

  it.each([
    'charset=utf-8; charset=utf-16',
    "charset*=utf-16''utf-16",
    'charset*0=utf-; charset*1=16',
    'x=y; CHARSET=utf-16',
  ])('may not hide one: %s', (parameters) => {
    expect(refusal(() => judge(['Content-Type', `application/json; ${parameters}`]))).toBe('unsupported-media-type');
  });

  // node:http keeps the first in silence; an upstream that keeps the last reads the body as something else.
  it('may not be there twice, not even equal', () => {
    for (const second of ['text/plain', 'application/json']) {
      expect(refusal(() => judge(['Content-Type', 'application/json', 'content-type', second]))).toBe(
        'unsupported-media-type',
      );
    }
  });

  it('may not be missing', () => {
    expect(refusal(() => judge([]))).toBe('unsupported-media-type');
  });

  it('may be another that the route lists, or of a whole type it lists', () => {
    expect(() => judge(['Content-Type', 'application/x-www-form-urlencoded'], uploads)).not.toThrow();
    expect(() => judge(['Content-Type', 'image/png'], uploads)).not.toThrow();
    expect(refusal(() => judge(['Content-Type', 'imagex/png'], uploads))).toBe('unsupported-media-type');
  });

  it('takes no longer to refuse for being long', () => {
    const started = performance.now();
    for (const tail of [`${' '.repeat(16_000)}x`, `${'; '.repeat(8_000)}x`, `; a="${'\\"'.repeat(8_000)}`]) {
      expect(refusal(() => judge(['Content-Type', `application/json${tail}`]))).toBe('unsupported-media-type');
    }
    expect(performance.now() - started).toBeLessThan(1000);
  });
});

describe('a request without a body', () => {
  it('needs no Content-Type, but what it has is signed and sent, so it is judged', () => {
    expect(() => judge([], json, false)).not.toThrow();
    expect(() => judge(['Content-Type', 'application/json'], json, false)).not.toThrow();
    expect(refusal(() => judge(['Content-Type', 'text/html'], json, false))).toBe('unsupported-media-type');
  });
});

// Compressed, a body shows nothing of what it says; the header does not pass, so the upstream could not read it either.
describe('Content-Encoding', () => {
  const coded = (coding: string) => () => judge(['Content-Type', 'application/json', 'Content-Encoding', coding]);

  it.each(['gzip', 'br', 'identity, gzip', 'x', ''])('%j is refused', (coding) => {
    expect(refusal(coded(coding))).toBe('unsupported-media-type');
  });

  it.each(['identity', 'Identity'])('%s passes', (coding) => {
    expect(coded(coding)).not.toThrow();
  });
});

describe('the format of a body', () => {
  it.each([
    ['application/json', 'json'],
    ['APPLICATION/JSON;charset=utf-8', 'json'],
    ['application/merge-patch+json', 'json'],
    ['application/x-ndjson', 'json'],
    ['application/x-www-form-urlencoded; charset=utf-8', 'form'],
    ['image/png', 'opaque'],
  ])('of %s is %s', (value, format) => {
    expect(bodyFormat(inbound({ headers: ['Content-Type', value] }))).toBe(format);
  });
});

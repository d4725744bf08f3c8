import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { BACKEND_AI, type Brand, SERVICE, type SignedRequest, verifySignature } from './verify-signature.ts';

interface Vector {
  readonly name: string;
  readonly request: Record<'method' | 'uri' | 'date' | 'host' | 'contentType' | 'version' | 'bodyBase64', string>;
  readonly keypair: { readonly accessKey: string; readonly secretKey: string };
  readonly brand: { readonly headerPrefix: string; readonly scheme: string };
  readonly expected: { readonly authorization: string };
}

const file = new URL('../vectors/signing.json', import.meta.url);
const vectors: Vector[] = JSON.parse(readFileSync(file, 'utf8'));

function brandOf(vector: Vector): Brand {
  return { ...SERVICE, ...vector.brand };
}

function requestOf({ request, brand, expected }: Vector): SignedRequest {
  return {
    method: request.method,
    target: request.uri,
    rawHeaders: [
      ['Host', request.host],
      ['Date', request.date],
      ['Content-Type', request.contentType],
      [`${brand.headerPrefix}Version`, request.version],
      ['Authorization', expected.authorization],
    ],
    body: Buffer.from(request.bodyBase64, 'base64'),
  };
}

function verify(vector: Vector, request = requestOf(vector)) {
  const { accessKey, secretKey } = vector.keypair;
  const now = Date.parse(vector.request.date);
  return verifySignature(request, { brand: brandOf(vector), keypairs: { [accessKey]: secretKey }, now });
}

function withHeader(request: SignedRequest, name: string, change: (value: string) => string): SignedRequest {
  const rawHeaders = request.rawHeaders.map(
    ([field, value]) => [field, field.endsWith(name) ? change(value) : value] as const,
  );
  return { ...request, rawHeaders };
}

const ALTERATIONS: Record<string, (request: SignedRequest) => SignedRequest> = {
  method: (request) => ({ ...request, method: request.method.toUpperCase() === 'GET' ? 'DELETE' : 'GET' }),
  'target appended': (request) => ({ ...request, target: `${request.target}x` }),
  'query mark': (request) => ({
    ...request,
    target: request.target.endsWith('?') ? request.target.slice(0, -1) : `${request.target}?`,
  }),
  host: (request) => withHeader(request, 'Host', (value) => `x${value.trim()}`),
  'host port': (request) => withHeader(request, 'Host', (value) => `${value.trim()}1`),
  date: (request) => withHeader(request, 'Date', (value) => new Date(Date.parse(value) + 1000).toISOString()),
  'content type': (request) => withHeader(request, 'Content-Type', () => 'text/plain'),
  'content type parameter': (request) =>
    withHeader(request, 'Content-Type', (value) => `${value.trim()}; charset=utf-8`),
  version: (request) => withHeader(request, 'Version', () => 'v4.20990101'),
  body: (request) => ({ ...request, body: Buffer.concat([request.body, Buffer.from('x')]) }),
  signature: (request) =>
    withHeader(request, 'Authorization', (value) => value.replace(/.$/, (last) => (last === '0' ? '1' : '0'))),
  'access key': (request) =>
    withHeader(request, 'Authorization', (value) => value.replace('credential=', 'credential=X')),
  scheme: (request) => withHeader(request, 'Authorization', (value) => `X${value}`),
  'no Authorization': (request) => ({
    ...request,
    rawHeaders: request.rawHeaders.filter(([name]) => name !== 'Authorization'),
  }),
  'a second Host': (request) => ({ ...request, rawHeaders: [...request.rawHeaders, ['host', 'evil.example']] }),
};

describe('the independent verifier', () => {
  it('has vectors of every kind to be measured by', () => {
    expect(vectors.length).toBeGreaterThanOrEqual(25);
  });

  describe.each(vectors)('$name', (vector) => {
    it('is accepted', () => {
      expect(verify(vector)).toEqual({ ok: true, why: 'verified', accessKey: vector.keypair.accessKey });
    });

    it.each(Object.keys(ALTERATIONS))('is refused with its %s altered', (name) => {
      expect(verify(vector, ALTERATIONS[name]?.(requestOf(vector))).ok).toBe(false);
    });

    it('is refused with another secret key', () => {
      const now = Date.parse(vector.request.date);
      const keypairs = { [vector.keypair.accessKey]: `${vector.keypair.secretKey}x` };
      expect(verifySignature(requestOf(vector), { brand: brandOf(vector), keypairs, now }).ok).toBe(false);
    });

    it('is refused fifteen minutes and a second away, and not fifteen minutes away', () => {
      const { accessKey, secretKey } = vector.keypair;
      const at = (offset: number) =>
        verifySignature(requestOf(vector), {
          brand: brandOf(vector),
          keypairs: { [accessKey]: secretKey },
          now: Date.parse(vector.request.date) + offset,
        }).ok;
      expect([-901_000, -900_000, 900_000, 901_000].map(at)).toEqual([false, true, true, false]);
    });
  });

  it('takes the vendor client’s word for a backend.ai request whose date line is the header’s own text', () => {
    const vector = vectors.find(({ brand }) => brand.scheme === 'BackendAI') as Vector;
    const request = requestOf(vector);
    const now = Date.parse(vector.request.date);
    const keypairs = { [vector.keypair.accessKey]: vector.keypair.secretKey };
    const basic = withHeader(request, 'Date', () => '20260315T010203Z');
    expect(verifySignature(basic, { brand: BACKEND_AI, keypairs, now }).ok).toBe(true);
    expect(verifySignature(request, { brand: BACKEND_AI, keypairs, now }).ok).toBe(false);
  });
});

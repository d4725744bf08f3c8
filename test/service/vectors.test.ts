import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { startService } from '../../src/service/server.ts';
import { parseDate } from '../../src/signing/date.ts';
import type { Dialect } from '../../src/signing/dialect.ts';
import { exchange } from './client.ts';

interface Vector {
  readonly name: string;
  readonly request: Readonly<
    Record<'method' | 'uri' | 'date' | 'host' | 'contentType' | 'version' | 'bodyBase64', string>
  >;
  readonly keypair: { readonly accessKey: string; readonly secretKey: string };
  readonly brand: { readonly headerPrefix: string; readonly scheme: string };
  readonly expected: { readonly authorization: string };
}

const vectors = JSON.parse(readFileSync(new URL('../vectors/signing.json', import.meta.url), 'utf8')) as Vector[];

/** HTTP methods are upper case on the wire, and a field value holds no line break: the parser of any server refuses both. */
function bytesOf(vector: Vector, dateHeader: string, authorization: string): Buffer {
  const { request, brand } = vector;
  const body = Buffer.from(request.bodyBase64, 'base64');
  const head = [
    `${request.method.toUpperCase()} ${request.uri} HTTP/1.1`,
    `Host: ${request.host}`,
    `${dateHeader}: ${request.date}`,
    `Content-Type: ${request.contentType.replace(/[\r\n]/g, '')}`,
    `${brand.headerPrefix}Version: ${request.version}`,
    `Authorization: ${authorization}`,
    `Content-Length: ${body.length}`,
    'Connection: close',
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

async function serviceFor(vector: Vector) {
  const dialect: Dialect = { ...vector.brand, bodyHash: 'body', contentType: 'full', dateLine: 'basic' };
  const { accessKey, secretKey } = vector.keypair;
  const service = await startService({
    host: '127.0.0.1',
    port: 0,
    keypairs: [{ accessKey, secretKey: new Secret(secretKey), isAdmin: false, rateLimit: 7 }],
    dialect,
    version: vector.request.version.trim(),
    rateLimit: { requests: 5, window: 60_000 },
    clock: () => parseDate(vector.request.date) ?? Number.NaN,
  });
  onTestFinished(() => service.close());
  return service;
}

describe.each(vectors.map((vector) => [vector.name, vector] as const))('%s', (_name, vector) => {
  it.each(['Date', `${vector.brand.headerPrefix}Date`])('is verified with the time in %s', async (dateHeader) => {
    const service = await serviceFor(vector);
    const reply = await exchange(service, bytesOf(vector, dateHeader, vector.expected.authorization));
    // Whether there is anything at the path is another matter: counted against the key's own quota means verified.
    expect(reply).toContain('X-RateLimit-Limit: 7\r\nX-RateLimit-Remaining: 6\r\n');
    expect(reply).not.toMatch(/\/(?:unauthorized|invalid-auth-params|unsupported-version)"/);
  });

  it('is refused with one digit of the signature changed', async () => {
    const service = await serviceFor(vector);
    const { authorization } = vector.expected;
    const forged = authorization.slice(0, -1) + (authorization.endsWith('0') ? '1' : '0');
    const reply = await exchange(service, bytesOf(vector, 'Date', forged));
    expect(reply).toMatch(/^HTTP\/1\.1 401 /);
    expect(reply).toContain('/unauthorized"');
    expect(reply).toContain('X-RateLimit-Limit: 5\r\nX-RateLimit-Remaining: 4\r\n');
  });
});

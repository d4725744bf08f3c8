import { createHash, createHmac } from 'node:crypto';
import type { Seen } from '../upstream-reply.ts';

export interface AwsKeypair {
  readonly accessKey: string;
  readonly secretKey: string;
}

/**
 * Throws unless a request without a query is signed as AWS Signature Version 4 demands, its body included. Written from
 * the procedure AWS documents: canonical request, string to sign, four nested keys.
 */
export function judgeSigV4(
  { method, target, headers }: Seen,
  body: string,
  { accessKey, secretKey }: AwsKeypair,
): void {
  const value = (name: string) => headers.find(([field]) => field.toLowerCase() === name)?.[1] ?? '';
  const found =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8}\/[^/]+\/[^/]+\/aws4_request), ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/.exec(
      value('authorization'),
    );
  const [, key, scope = '', signedHeaders = '', signature] = found ?? [];
  if (key !== accessKey) throw new Error(`does not sign: ${value('authorization')}`);
  const canonical = [
    method,
    target,
    '',
    ...signedHeaders.split(';').map((name) => `${name}:${value(name).trim().replaceAll(/ +/g, ' ')}`),
    '',
    signedHeaders,
    sha256(body),
  ].join('\n');
  const text = ['AWS4-HMAC-SHA256', value('x-amz-date'), scope, sha256(canonical)].join('\n');
  let signingKey: Buffer = Buffer.from(`AWS4${secretKey}`);
  for (const part of scope.split('/')) signingKey = hmac(signingKey, part);
  if (hmac(signingKey, text).toString('hex') !== signature)
    throw new Error('signs wrongly: the signature does not match');
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: Buffer, message: string): Buffer {
  return createHmac('sha256', key).update(message).digest();
}

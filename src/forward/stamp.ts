import type { Permit } from '../exchange.ts';
import type { DayKeyCache } from '../signing/day-key.ts';
import { sign } from '../signing/sign.ts';
import type { Keypair } from '../tenant.ts';
import type { Attempt } from './request-headers.ts';

/**
 * Signs one attempt: date, signature and headers are made afresh for each (design: a retry carries a fresh stamp). `at` is
 * epoch milliseconds on the clock it will be judged by.
 */
export function stamp(
  permit: Permit,
  keypair: Keypair,
  endpoint: string,
  body: { readonly hash: string; readonly contentLength: number | undefined },
  keys: DayKeyCache,
  at: number,
): Attempt {
  const { inbound } = permit;
  const { dialect, version, signedHost } = inbound.tenant.upstream;
  const host = signedHost ?? endpoint.slice(endpoint.indexOf('//') + 2);
  const contentType = inbound.headers['content-type'] ?? 'application/json';
  const request = { method: inbound.method, uri: inbound.target, host, contentType, version, bodyHash: body.hash };
  const signature = sign(dialect, keys, keypair, request, at);
  return { host, contentType, signature, contentLength: body.contentLength };
}

import type { Keypair } from '../tenant.ts';
import { type SignedRequest, stringToSign } from './canonical.ts';
import { stampOf } from './date.ts';
import type { DayKeyCache } from './day-key.ts';
import type { Dialect } from './dialect.ts';

/** What a signed request carries in addition to its own headers. */
export interface Signature {
  /** `YYYYmmddTHHMMSSZ`, for Date and for X-<Brand>-Date. */
  readonly date: string;
  /** The Authorization header, a secret as long as the request is fresh. */
  readonly authorization: string;
}

export function authorizationHeader(dialect: Dialect, accessKey: string, signature: string): string {
  return `${dialect.scheme} signMethod=HMAC-SHA256, credential=${accessKey}:${signature}`;
}

/** Signs one attempt at the given instant (epoch milliseconds). Day of the key and stamp come from that one instant. */
export function sign(
  dialect: Dialect,
  keys: DayKeyCache,
  keypair: Keypair,
  request: SignedRequest,
  epochMs: number,
): Signature {
  const { basic, day } = stampOf(epochMs);
  const key = keys.get(keypair.accessKey, keypair.secretKey.reveal(), day, request.host);
  const signature = key.hex(stringToSign(dialect, request, basic));
  return { date: basic, authorization: authorizationHeader(dialect, keypair.accessKey, signature) };
}

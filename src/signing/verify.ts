import { timingSafeEqual } from 'node:crypto';
import type { Keypair } from '../tenant.ts';
import { type SignedRequest, stringToSign, trimValue } from './canonical.ts';
import { parseDate, stampOf } from './date.ts';
import type { DayKeyCache } from './day-key.ts';
import type { Dialect } from './dialect.ts';

/** Request time and server clock may be this far apart, in milliseconds (service-api.md §5, Clock). */
export const MAX_CLOCK_DEVIATION = 15 * 60_000;

export type Refusal =
  | 'authorization-missing'
  | 'authorization-malformed'
  | 'date-missing'
  | 'date-invalid'
  | 'version-missing'
  | 'clock-skew'
  | 'access-key-unknown'
  | 'signature-mismatch';

export type Verdict =
  | { readonly ok: true; readonly keypair: Keypair }
  | { readonly ok: false; readonly reason: Refusal };

/** A request as received, with the headers that carry its signature. */
export interface ReceivedRequest extends SignedRequest {
  readonly authorization: string | undefined;
  /** The Date header, or X-<Brand>-Date where Date is absent. */
  readonly date: string | undefined;
}

/** The credential of an Authorization header. */
export interface Credential {
  readonly accessKey: string;
  /** 64 lowercase hex digits. */
  readonly signature: string;
}

const PARAMETERS = /^signMethod=HMAC-SHA256, ?credential=([^\s:,]{1,256}):([0-9a-f]{64})$/;

/** Reads `<scheme> signMethod=HMAC-SHA256, credential=<key>:<signature>`; the scheme's case does not matter (RFC 9110). */
export function parseAuthorization(dialect: Dialect, header: string): Credential | undefined {
  const space = header.indexOf(' ');
  if (header.slice(0, space).toLowerCase() !== dialect.scheme.toLowerCase()) return undefined;
  const match = PARAMETERS.exec(trimValue(header.slice(space + 1)));
  return match?.[1] === undefined || match[2] === undefined ? undefined : { accessKey: match[1], signature: match[2] };
}

/**
 * Verifies a received request as the Service does (service-api.md §5). `now` is the server clock in epoch milliseconds;
 * undefined leaves the clock rule out. The signature is compared in constant time, and an unknown access key costs the
 * same work as a wrong signature. The reason of a refusal is for logs and tools: do not tell it to the sender.
 */
export function verify(
  dialect: Dialect,
  keys: DayKeyCache,
  lookup: (accessKey: string) => Keypair | undefined,
  request: ReceivedRequest,
  now: number | undefined,
): Verdict {
  if (request.authorization === undefined) return refuse('authorization-missing');
  const credential = parseAuthorization(dialect, request.authorization);
  if (credential === undefined) return refuse('authorization-malformed');
  if (request.date === undefined) return refuse('date-missing');
  const date = trimValue(request.date);
  const instant = parseDate(date);
  if (instant === undefined) return refuse('date-invalid');
  if (trimValue(request.version) === '') return refuse('version-missing');
  if (now !== undefined && Math.abs(now - instant) > MAX_CLOCK_DEVIATION) return refuse('clock-skew');

  const keypair = lookup(credential.accessKey);
  const { basic, day } = stampOf(instant);
  const key = keys.get(keypair?.accessKey ?? '', keypair?.secretKey.reveal() ?? '', day, request.host);
  const expected = key.hex(stringToSign(dialect, request, dialect.dateLine === 'basic' ? basic : date));
  const matches = timingSafeEqual(Buffer.from(expected, 'latin1'), Buffer.from(credential.signature, 'latin1'));
  if (keypair === undefined) return refuse('access-key-unknown');
  return matches ? { ok: true, keypair } : refuse('signature-mismatch');
}

function refuse(reason: Refusal): Verdict {
  return { ok: false, reason };
}

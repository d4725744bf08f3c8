import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { vendorSignature } from './vendor-signature.ts';

/*
 * Written from service-api.md §5 and nothing else: it shares no line with src/signing, so that a misreading there cannot
 * hide here. Requests of the backend.ai brand are checked once more by that project's own client library.
 */

/** How one brand of the Service writes its signatures (design: dialect). */
export interface Brand {
  readonly headerPrefix: string;
  readonly scheme: string;
  /** `empty`: whatever the body, the hash of no bytes is signed. */
  readonly bodyHash: 'body' | 'empty';
  /** `mime`: only the lowercase media type without parameters is signed. */
  readonly contentType: 'full' | 'mime';
  /** `verbatim`: the date header's own text is signed; `basic`: its instant as YYYYmmddTHHMMSSZ. */
  readonly dateLine: 'basic' | 'verbatim';
}

export const SERVICE: Brand = {
  headerPrefix: 'X-Service-',
  scheme: 'Service',
  bodyHash: 'body',
  contentType: 'full',
  dateLine: 'basic',
};

export const BACKEND_AI: Brand = {
  headerPrefix: 'X-BackendAI-',
  scheme: 'BackendAI',
  bodyHash: 'empty',
  contentType: 'mime',
  dateLine: 'verbatim',
};

export interface SignedRequest {
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

export interface Verdict {
  readonly ok: boolean;
  readonly why: string;
  readonly accessKey?: string;
}

/** `keypairs`: access key → secret key. `now`: the server's clock, epoch milliseconds. */
export interface Verifier {
  readonly brand: Brand;
  readonly keypairs: Readonly<Record<string, string>>;
  readonly now: number;
}

const FIFTEEN_MINUTES = 15 * 60_000;

export function verifySignature(request: SignedRequest, { brand, keypairs, now }: Verifier): Verdict {
  const only = (name: string): string | undefined => {
    const found = request.rawHeaders.filter(([field]) => field.toLowerCase() === name.toLowerCase());
    return found.length === 1 ? trim(found[0]?.[1] ?? '') : undefined;
  };
  const authorization = only('Authorization');
  if (authorization === undefined) return refuse('not exactly one Authorization');
  const space = authorization.indexOf(' ');
  if (authorization.slice(0, space) !== brand.scheme) return refuse('another scheme');
  const credential = /^signMethod=HMAC-SHA256, credential=([^:\s,]+):([0-9a-f]{64})$/.exec(
    authorization.slice(space + 1),
  );
  const [, accessKey = '', signature = ''] = credential ?? [];
  if (credential === null) return refuse('malformed Authorization');
  const secretKey = Object.hasOwn(keypairs, accessKey) ? keypairs[accessKey] : undefined;
  if (secretKey === undefined) return refuse(`unknown access key ${accessKey}`);

  const host = only('Host');
  const contentType = only('Content-Type');
  const version = only(`${brand.headerPrefix}Version`);
  if (host === undefined || contentType === undefined || version === undefined) {
    return refuse('not exactly one each of Host, Content-Type and Version');
  }
  if (!/^v\d+\.\d{8}$/.test(version)) return refuse(`version ${version}`);
  const brandDate = only(`${brand.headerPrefix}Date`);
  const dateText = only('Date') ?? brandDate;
  const date = dateText === undefined ? undefined : parseDate(dateText);
  if (dateText === undefined || date === undefined) return refuse(`date ${dateText}`);
  if (brandDate !== undefined && parseDate(brandDate)?.getTime() !== date.getTime())
    return refuse('two dates that differ');
  if (Math.abs(now - date.getTime()) > FIFTEEN_MINUTES) return refuse('clock deviates by more than 15 minutes');

  const stamp = date.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const day = stamp.slice(0, 8);
  const signedType = brand.contentType === 'mime' ? trim(contentType.split(';')[0] ?? '').toLowerCase() : contentType;
  const signedDate = brand.dateLine === 'verbatim' ? dateText : stamp;
  const signedBody = brand.bodyHash === 'empty' ? Buffer.alloc(0) : request.body;
  const stringToSign = [
    request.method.toUpperCase(),
    request.target,
    signedDate,
    `host:${host}`,
    `content-type:${signedType}`,
    `${brand.headerPrefix.toLowerCase()}version:${version}`,
    createHash('sha256').update(signedBody).digest('hex'),
  ].join('\n');
  const signingKey = hmac(hmac(Buffer.from(secretKey, 'utf8'), day), host);
  const expected = hmac(signingKey, stringToSign);
  if (!timingSafeEqual(expected, Buffer.from(signature, 'hex')))
    return refuse('the signature does not match', accessKey);
  if (brand.scheme === 'BackendAI') {
    const { method, target } = request;
    const covered = { method, target, host, version, contentType: signedType, date, dateLine: signedDate };
    const theirs = vendorSignature({ accessKey, secretKey }, { ...covered, body: signedBody });
    if (theirs !== signature) return refuse('the vendor’s own client signs otherwise', accessKey);
  }
  return { ok: true, why: 'verified', accessKey };
}

function hmac(key: Buffer, message: string): Buffer {
  return createHmac('sha256', key).update(message, 'utf8').digest();
}

function trim(text: string): string {
  return text.replace(/^[\n\r \t]+|[\n\r \t]+$/g, '');
}

/** ISO 8601 basic or extended, or the RFC 822 form of HTTP dates; UTC where no zone is given. */
function parseDate(text: string): Date | undefined {
  const iso = /^(\d{4})-?(\d\d)-?(\d\d)[T ](\d\d):?(\d\d):?(\d\d)(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?$/.exec(text);
  const zone = iso?.[7] === undefined || iso[7] === 'Z' ? 'Z' : iso[7].replace(/^(...):?(..)$/, '$1:$2');
  const date = iso
    ? new Date(`${iso[1]}-${iso[2]}-${iso[3]}T${iso[4]}:${iso[5]}:${iso[6]}${zone}`)
    : /^[A-Z][a-z]{2}, \d\d? [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d (?:GMT|UTC|[+-]\d{4})$/.test(text)
      ? new Date(text)
      : undefined;
  return date === undefined || Number.isNaN(date.getTime()) ? undefined : date;
}

function refuse(why: string, accessKey?: string): Verdict {
  return accessKey === undefined ? { ok: false, why } : { ok: false, why, accessKey };
}

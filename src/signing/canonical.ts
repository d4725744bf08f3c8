import type { Dialect } from './dialect.ts';

/** SHA-256 of the empty string: the last line of the string to sign for a request without a body. */
export const EMPTY_BODY_HASH = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** Everything a signature covers, before canonicalization (service-api.md §5). */
export interface SignedRequest {
  readonly method: string;
  /** Path and query string, byte for byte as sent. */
  readonly uri: string;
  /** The value of the Host header that is sent. */
  readonly host: string;
  readonly contentType: string;
  /** `vX.yyyymmdd`. */
  readonly version: string;
  /** Lowercase hex SHA-256 of the body as sent. */
  readonly bodyHash: string;
}

/** Trims LF, CR, space and tab, and nothing else that Unicode calls white space. */
export function trimValue(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isTrimmed(value.charCodeAt(start))) start++;
  while (end > start && isTrimmed(value.charCodeAt(end - 1))) end--;
  return start === 0 && end === value.length ? value : value.slice(start, end);
}

function isTrimmed(code: number): boolean {
  return code === 32 || code === 9 || code === 10 || code === 13;
}

function canonicalContentType(value: string, rule: Dialect['contentType']): string {
  if (rule === 'full') return trimValue(value);
  const semicolon = value.indexOf(';');
  return trimValue(semicolon === -1 ? value : value.slice(0, semicolon)).toLowerCase();
}

/** The seven lines of service-api.md §5. `dateLine` is the basic form, or the header's text for a verbatim verifier. */
export function stringToSign(dialect: Dialect, request: SignedRequest, dateLine: string): string {
  const host = trimValue(request.host);
  const contentType = canonicalContentType(request.contentType, dialect.contentType);
  const version = `${dialect.headerPrefix.toLowerCase()}version:${trimValue(request.version)}`;
  const bodyHash = dialect.bodyHash === 'empty' ? EMPTY_BODY_HASH : request.bodyHash;
  return `${request.method.toUpperCase()}\n${request.uri}\n${dateLine}\nhost:${host}\ncontent-type:${contentType}\n${version}\n${bodyHash}`;
}

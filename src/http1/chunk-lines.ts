import { HEADER, headerName } from './header-name.ts';
import { malformed } from './wire-error.ts';

/** Hexadecimal, at most 13 digits: a number that counts exactly. Extensions are dropped (RFC 9112 §7.1.1). */
const CHUNK_LINE =
  /^([0-9a-fA-F]{1,13})(?:;[!#$%&'*+.^_`|~\w-]+(?:=(?:[!#$%&'*+.^_`|~\w-]+|"(?:[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e])*"))?)*$/;

/** The size of the chunk that `line` announces. Throws WireError `UPSTREAM_MALFORMED`. */
export function chunkSizeIn(line: string): number {
  const size = CHUNK_LINE.exec(line)?.[1];
  if (size === undefined) throw malformed('A chunk without a size.');
  return Number.parseInt(size, 16);
}

/** Field value bytes (RFC 9110 §5.5). */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Trailers are dropped, but a response whose last line end is missing must not have the head of the next one taken for
 * its trailers, and one that frames itself there (RFC 9110 §6.5.1) might be read otherwise by somebody else.
 */
export function requireTrailer(line: string): void {
  const colon = line.indexOf(':');
  const name = colon === -1 ? undefined : headerName(line.slice(0, colon));
  if (name === undefined || !VALUE.test(line)) throw malformed('A trailer is malformed.');
  if (name.kind === HEADER.contentLength || name.kind === HEADER.transferEncoding) {
    throw malformed('Framing in a trailer.');
  }
}

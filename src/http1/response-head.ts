import { HEADER, type HeaderName, headerName } from './header-name.ts';
import { malformed } from './wire-error.ts';

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;
const DELETE = 0x7f;
const ZERO = 0x30;

/** How the body of a response ends (RFC 9112 §6.3). */
export type BodyEnd = 'none' | 'length' | 'chunked' | 'close';

/** The head of a response. `names` and `values` belong together; duplicates stay apart, values are trimmed. */
export interface ResponseHead {
  readonly status: number;
  readonly reason: string;
  readonly names: readonly HeaderName[];
  readonly values: readonly string[];
  /** As declared, also where there is no body, as after HEAD. */
  readonly contentLength: number | undefined;
  /** The value of Connection, several joined. */
  readonly connection: string | undefined;
  readonly end: BodyEnd;
  /** The server lets the connection be used again. */
  readonly keepAlive: boolean;
  /** Seconds after which it closes an unused connection, from its Keep-Alive header. */
  readonly idleSeconds: number | undefined;
}

/** The header names of the last response of a connection: those of the next one are most likely the same, in the same order. */
export type NameGuess = HeaderName[];
/** So many names are guessed. A kept connection holds on to no more. */
const MAX_GUESSED = 64;

/**
 * Reads the head in `bytes` from 0 to `end`, which is behind the empty line. Strict: what a lenient reader would repair could
 * be read otherwise by the next. Throws WireError `UPSTREAM_MALFORMED`.
 */
export function readHead(bytes: Buffer, end: number, isHead: boolean, guess: NameGuess): ResponseHead {
  requireFieldBytes(bytes, 0, end);
  const text = bytes.toString('latin1', 0, end);
  const lineEnd = text.indexOf('\r\n');
  const minor = text.charCodeAt(7) - ZERO;
  const status = digit(text, 9) * 100 + digit(text, 10) * 10 + digit(text, 11);
  const afterStatus = text.charCodeAt(12);
  if (
    !text.startsWith('HTTP/1.') ||
    (minor !== 0 && minor !== 1) ||
    text.charCodeAt(8) !== SPACE ||
    !(status >= 100 && status <= 999) ||
    (afterStatus !== SPACE && afterStatus !== CR)
  ) {
    throw malformed('The status line is none of HTTP/1.x.');
  }
  const names: HeaderName[] = [];
  const values: string[] = [];
  let contentLength: number | undefined;
  let encoding: string | undefined;
  let connection: string | undefined;
  let idleSeconds: number | undefined;
  let at = lineEnd + 2;
  const last = end - 2;
  while (at < last) {
    const name = nameAt(text, at, guess[names.length]);
    const lineEnd = text.indexOf('\r\n', at);
    let from = at + name.text.length + 1;
    let to = lineEnd;
    while (from < to && isBlank(text.charCodeAt(from))) from++;
    while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
    const value = text.slice(from, to);
    switch (name.kind) {
      case HEADER.contentLength:
        if (contentLength !== undefined) throw malformed('More than one Content-Length.');
        contentLength = lengthIn(value);
        break;
      case HEADER.transferEncoding:
        if (encoding !== undefined) throw malformed('More than one Transfer-Encoding.');
        // With what is behind it: there are readers to whom `chunked ` is another coding.
        encoding = text.slice(from, lineEnd);
        break;
      case HEADER.connection:
        connection = connection === undefined ? value : `${connection}, ${value}`;
        break;
      case HEADER.keepAlive:
        idleSeconds = timeoutIn(value);
        break;
    }
    if (names.length < MAX_GUESSED) guess[names.length] = name;
    names.push(name);
    values.push(value);
    at = lineEnd + 2;
  }
  const framed = framing(encoding, contentLength, minor);
  if (status === 204 && contentLength !== undefined) {
    // It has none (RFC 9110 §8.6), and nobody behind us is to wait for its bytes.
    const index = names.findIndex(({ kind }) => kind === HEADER.contentLength);
    names.splice(index, 1);
    values.splice(index, 1);
  }
  const isBodyless = isHead || status < 200 || status === 204 || status === 304;
  return {
    status,
    reason: text.slice(Math.min(13, lineEnd), lineEnd),
    names,
    values,
    contentLength,
    connection,
    end: isBodyless ? 'none' : framed,
    // A server that announces a body behind a 204 may well send it, some time later.
    keepAlive: staysOpen(connection, minor) && !(status === 204 && (framed === 'chunked' || Number(contentLength) > 0)),
    idleSeconds,
  };
}

/**
 * No control byte but a tab, and every line ended by CR LF: a lone CR or LF would be a line end to some readers. A CR at `end`
 * may still get its LF.
 */
export function requireFieldBytes(bytes: Buffer, from: number, end: number): void {
  for (let i = from; i < end; i++) {
    const byte = bytes[i] as number;
    if (byte >= SPACE && byte !== DELETE) continue;
    if (byte === CR && (i + 1 === end || bytes[i + 1] === LF)) i++;
    else if (byte !== TAB) throw malformed('A control byte, or a line that is not ended by CR LF, in the head.');
  }
}

/** The name of the line at `at`: the guessed one, or looked up. A folded line starts with a blank, which is in no name. */
function nameAt(text: string, at: number, guess: HeaderName | undefined): HeaderName {
  if (guess !== undefined && text.startsWith(guess.text, at) && text.charCodeAt(at + guess.text.length) === COLON) {
    return guess;
  }
  const colon = text.indexOf(':', at);
  const name = colon === -1 ? undefined : headerName(text.slice(at, colon));
  if (name === undefined) throw malformed('A header line is malformed.');
  return name;
}

/** RFC 9112 §6.3. A response with both framings, or with codings besides chunked, may be an attempt at splitting. */
function framing(encoding: string | undefined, contentLength: number | undefined, minor: number): BodyEnd {
  if (encoding === undefined) return contentLength === undefined ? 'close' : 'length';
  if (contentLength !== undefined) throw malformed('Both Transfer-Encoding and Content-Length.');
  if (minor === 0) throw malformed('Transfer-Encoding over HTTP/1.0.');
  if (encoding.toLowerCase() !== 'chunked') throw malformed('A Transfer-Encoding other than chunked.');
  return 'chunked';
}

function staysOpen(connection: string | undefined, minor: number): boolean {
  if (connection === undefined) return minor === 1;
  const options = connection.toLowerCase();
  if (options === 'keep-alive') return true;
  if (options === 'close') return false;
  const listed = options.split(',').map((option) => option.trim());
  return !listed.includes('close') && (minor === 1 || listed.includes('keep-alive'));
}

const DIGITS = /^\d{1,15}$/;

function lengthIn(value: string): number {
  if (!DIGITS.test(value)) throw malformed('A Content-Length that is no number.');
  return Number(value);
}

const TIMEOUT = /(?:^|[,;\s])timeout=(\d{1,9})(?:$|[,;\s])/i;

function timeoutIn(value: string): number | undefined {
  const seconds = TIMEOUT.exec(value)?.[1];
  return seconds === undefined ? undefined : Number(seconds);
}

function digit(text: string, at: number): number {
  const value = text.charCodeAt(at) - ZERO;
  return value >= 0 && value <= 9 ? value : Number.NaN;
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

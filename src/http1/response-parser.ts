import { type NameGuess, type ResponseHead, readHead } from './response-head.ts';
import { malformed, WireError } from './wire-error.ts';

const LF = 0x0a;
const CR = 0x0d;
/** A line with a chunk's size and extensions, and all trailers together, may be so long, in bytes. */
const MAX_CHUNK_LINE = 4096;
const MAX_TRAILERS = 16 * 1024;

/** Hears what a parser reads. A chunk is a view of the bytes given to `execute`, of no use after that call. */
export interface ParserSink {
  /** The head of a final response; informational ones are skipped. */
  onHead(head: ResponseHead): void;
  onData(chunk: Buffer): void;
}

type State = 'idle' | 'head' | 'length' | 'close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers';

/**
 * Reads the responses of one connection, one at a time, from bytes in pieces of any size. All methods throw WireError
 * `UPSTREAM_MALFORMED`, after which the connection is of no use. Trailers are read and dropped: the gateway's own head has gone by then.
 */
export class ResponseParser {
  readonly #sink: ParserSink;
  readonly #maxHead: number;
  readonly #guess: NameGuess = [];
  #state: State = 'idle';
  #isHead = false;
  /** Bytes of the body or of the chunk that are still to come. */
  #remaining = 0;
  /** The beginning of a head or line that is not whole yet. */
  #partial: Buffer | undefined;
  /** Bytes of the trailers so far. */
  #trailers = 0;

  /** `maxHead` is the size in bytes that a head, its empty line included, may have. */
  constructor(sink: ParserSink, maxHead: number) {
    this.#sink = sink;
    this.#maxHead = maxHead;
  }

  /** A request was sent whose response is to be read; after HEAD there is no body. */
  expect(isHead: boolean): void {
    this.#state = 'head';
    this.#isHead = isHead;
  }

  /** Whether a response is expected or being read. */
  get busy(): boolean {
    return this.#state !== 'idle';
  }

  /** Reads on, to the end of the response and no further. Gives how many bytes it took. */
  execute(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length && this.#state !== 'idle') {
      switch (this.#state) {
        case 'head':
          at = this.#head(bytes, at);
          break;
        case 'length':
        case 'chunk':
          at = this.#counted(bytes, at);
          break;
        case 'close':
          this.#sink.onData(at === 0 ? bytes : bytes.subarray(at));
          return bytes.length;
        case 'chunk-size':
          at = this.#chunkSize(bytes, at);
          break;
        case 'chunk-end':
          at = this.#chunkEnd(bytes, at);
          break;
        case 'trailers':
          at = this.#trailer(bytes, at);
          break;
      }
    }
    return at;
  }

  /** The server closed its side, which ends some responses. Throws WireError `UPSTREAM_CLOSED` when one is not whole. */
  finish(): void {
    if (this.#state === 'close') this.#state = 'idle';
    else if (this.#state !== 'idle') {
      throw new WireError('UPSTREAM_CLOSED', 'The connection was closed before the response was whole.');
    }
  }

  #head(bytes: Buffer, at: number): number {
    const known = this.#partial;
    // The empty line may have begun in what came before.
    const from = known === undefined ? at : Math.max(0, known.length - 3);
    const whole = known === undefined ? bytes : Buffer.concat([known, at === 0 ? bytes : bytes.subarray(at)]);
    const found = whole.indexOf('\r\n\r\n', from, 'latin1');
    const length = (found === -1 ? whole.length : found + 4) - (known === undefined ? at : 0);
    if (length > this.#maxHead) throw malformed('The head of the response is too large.');
    if (found === -1) {
      this.#partial = known === undefined ? Buffer.from(bytes.subarray(at)) : whole;
      requireHttp(this.#partial);
      return bytes.length;
    }
    this.#partial = undefined;
    const start = known === undefined ? at : 0;
    const head = readHead(start === 0 ? whole : whole.subarray(start), length, this.#isHead, this.#guess);
    if (head.status >= 200) this.#begin(head);
    else if (head.status === 101) throw malformed('101 without an Upgrade.');
    return known === undefined ? found + 4 : at + length - known.length;
  }

  #begin(head: ResponseHead): void {
    this.#remaining = head.contentLength ?? 0;
    const isOver = head.end === 'none' || (head.end === 'length' && this.#remaining === 0);
    if (isOver) this.#state = 'idle';
    else this.#state = head.end === 'chunked' ? 'chunk-size' : (head.end as 'length' | 'close');
    this.#sink.onHead(head);
  }

  #counted(bytes: Buffer, at: number): number {
    const available = bytes.length - at;
    const length = Math.min(available, this.#remaining);
    this.#remaining -= length;
    this.#sink.onData(at === 0 && length === available ? bytes : bytes.subarray(at, at + length));
    if (this.#remaining === 0) this.#state = this.#state === 'length' ? 'idle' : 'chunk-end';
    return at + length;
  }

  #chunkSize(bytes: Buffer, at: number): number {
    const { line, next } = this.#line(bytes, at);
    if (line === undefined) return next;
    const size = sizeOf(line);
    this.#remaining = size;
    this.#state = size === 0 ? 'trailers' : 'chunk';
    if (size === 0) this.#trailers = 0;
    return next;
  }

  #chunkEnd(bytes: Buffer, at: number): number {
    const { line, next } = this.#line(bytes, at);
    if (line === undefined) return next;
    if (line !== '') throw malformed('A chunk is longer than its size.');
    this.#state = 'chunk-size';
    return next;
  }

  #trailer(bytes: Buffer, at: number): number {
    const { line, next } = this.#line(bytes, at);
    if (line === undefined) return next;
    this.#trailers += line.length + 2;
    if (this.#trailers > MAX_TRAILERS) throw malformed('The trailers are too large.');
    if (line === '') this.#state = 'idle';
    return next;
  }

  /** A line without its CR LF; undefined, and kept, while it is not whole. */
  #line(bytes: Buffer, at: number): { readonly line: string | undefined; readonly next: number } {
    const lf = bytes.indexOf(LF, at);
    const piece = bytes.subarray(at, lf === -1 ? bytes.length : lf + 1);
    const whole = this.#partial === undefined ? piece : Buffer.concat([this.#partial, piece]);
    if (whole.length > MAX_CHUNK_LINE) throw malformed('A line of the chunked body is too long.');
    if (lf === -1) {
      this.#partial = Buffer.from(whole);
      return { line: undefined, next: bytes.length };
    }
    this.#partial = undefined;
    if (whole[whole.length - 2] !== CR) throw malformed('A line of the chunked body is not ended by CR LF.');
    return { line: whole.toString('latin1', 0, whole.length - 2), next: lf + 1 };
  }
}

/** Hexadecimal, at most 13 digits: a number that counts exactly. Extensions are dropped (RFC 9112 §7.1.1). */
const CHUNK_LINE = /^([0-9a-fA-F]{1,13})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?$/;

function sizeOf(line: string): number {
  const size = CHUNK_LINE.exec(line)?.[1];
  if (size === undefined) throw malformed('A chunk without a size.');
  return Number.parseInt(size, 16);
}

/** Something else than HTTP is told by its first bytes, without waiting for an empty line that may never come. */
function requireHttp(head: Buffer): void {
  const begin = head.toString('latin1', 0, 7);
  if (!'HTTP/1.'.startsWith(begin)) throw malformed('The response is not HTTP/1.x.');
}

import { chunkSizeIn, requireTrailer } from './chunk-lines.ts';
import { type NameGuess, type ResponseHead, readHead, requireFieldBytes } from './response-head.ts';
import { malformed, WireError } from './wire-error.ts';

const LF = 0x0a;
const CR = 0x0d;
const END_OF_HEAD = '\r\n\r\n';
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
  /** Bytes that the heads of this response may still have, those of informational ones together with the final one. */
  #headRoom = 0;
  /** Bytes of the body, of the chunk, or of the line end behind it that are still to come. */
  #remaining = 0;
  /** The beginning of a line that is not whole yet, or room for a head with `#arrived` bytes of it. */
  #partial: Buffer | undefined;
  #arrived = 0;
  /** Bytes of the trailers so far. */
  #trailers = 0;

  /** `maxHead` is the size in bytes that a head, its empty line and all informational heads before it included, may have. */
  constructor(sink: ParserSink, maxHead: number) {
    this.#sink = sink;
    this.#maxHead = maxHead;
  }

  /** A request was sent whose response is to be read; after HEAD there is no body. */
  expect(isHead: boolean): void {
    this.#state = 'head';
    this.#isHead = isHead;
    this.#headRoom = this.#maxHead;
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
    if (this.#partial !== undefined) return this.#pieceOfHead(bytes, at, this.#partial);
    const found = bytes.indexOf(END_OF_HEAD, at, 'latin1');
    if (found === -1) return this.#pieceOfHead(bytes, at, Buffer.allocUnsafe(this.#headRoom));
    const end = found + 4;
    this.#wholeHead(at === 0 ? bytes : bytes.subarray(at), end - at);
    return end;
  }

  /** Pieces are gathered where a whole head has room, so that many small ones cost no more than few large ones. */
  #pieceOfHead(bytes: Buffer, at: number, room: Buffer): number {
    const known = this.#arrived;
    const arrived = known + bytes.copy(room, known, at);
    // The empty line may have begun in what came before.
    const found = room.subarray(0, arrived).indexOf(END_OF_HEAD, Math.max(0, known - 3), 'latin1');
    if (found === -1) {
      requireHttp(room, arrived);
      requireFieldBytes(room, known > 0 && room[known - 1] === CR ? known - 1 : known, arrived);
      if (arrived === room.length) throw tooLarge();
      this.#partial = room;
      this.#arrived = arrived;
      return bytes.length;
    }
    this.#partial = undefined;
    this.#arrived = 0;
    this.#wholeHead(room, found + 4);
    return at + found + 4 - known;
  }

  #wholeHead(bytes: Buffer, length: number): void {
    if (length > this.#headRoom) throw tooLarge();
    this.#headRoom -= length;
    const head = readHead(bytes, length, this.#isHead, this.#guess);
    if (head.status >= 200) this.#begin(head);
    else if (head.status === 101) throw malformed('101 without an Upgrade.');
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
    if (this.#remaining > 0) return at + length;
    if (this.#state === 'length') {
      this.#state = 'idle';
    } else {
      this.#state = 'chunk-end';
      this.#remaining = 2;
    }
    return at + length;
  }

  #chunkSize(bytes: Buffer, at: number): number {
    const { line, next } = this.#line(bytes, at);
    if (line === undefined) return next;
    const size = chunkSizeIn(line);
    this.#remaining = size;
    this.#state = size === 0 ? 'trailers' : 'chunk';
    if (size === 0) this.#trailers = 0;
    return next;
  }

  /** One byte of the line end behind a chunk. */
  #chunkEnd(bytes: Buffer, at: number): number {
    if (bytes[at] !== (this.#remaining === 2 ? CR : LF)) throw malformed('A chunk is longer than its size.');
    this.#remaining--;
    if (this.#remaining === 0) this.#state = 'chunk-size';
    return at + 1;
  }

  #trailer(bytes: Buffer, at: number): number {
    const { line, next } = this.#line(bytes, at);
    if (line === undefined) return next;
    this.#trailers += line.length + 2;
    if (this.#trailers > MAX_TRAILERS) throw malformed('The trailers are too large.');
    if (line === '') this.#state = 'idle';
    else requireTrailer(line);
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

/** Something else than HTTP is told by its first bytes, without waiting for an empty line that may never come. */
function requireHttp(head: Buffer, length: number): void {
  if (!'HTTP/1.'.startsWith(head.toString('latin1', 0, Math.min(length, 7)))) {
    throw malformed('The response is not HTTP/1.x.');
  }
}

function tooLarge(): WireError {
  return malformed('The head of the response is too large.');
}

import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { ResponseHead } from '../http1/response-head.ts';
import type { ResponseHandler, WireExchange } from '../http1/wire.ts';
import { breakOff } from './break-off.ts';

/** What node:http would not write in a status line. */
const INVALID_TEXT = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Relays one response onto the browser's, chunk by chunk with back-pressure. A response that is complete in one read
 * leaves in one write.
 */
export class Reply {
  readonly #reply: ServerResponse;
  #head: ResponseHead | undefined;
  #headers: string[] = [];
  /** The first chunk, held until it is known whether the response ends with it. */
  #held: Buffer | undefined;
  #headSent = false;
  #paused = false;

  constructor(reply: ServerResponse) {
    this.#reply = reply;
  }

  /** A response begins; `headers` are name, value, name, value … as they are sent. */
  begin(head: ResponseHead, headers: string[]): void {
    this.#head = head;
    this.#headers = headers;
  }

  /** `chunk` is good during the call, or if it is the first until `flush` or `end`, which come in the same read. */
  write(chunk: Buffer, exchange: WireExchange, handler: ResponseHandler): void {
    if (this.#headSent) {
      this.#send(chunk, exchange, handler);
    } else if (this.#held === undefined) {
      this.#held = chunk;
    } else {
      this.flush(exchange, handler);
      this.#send(chunk, exchange, handler);
    }
  }

  /** Sends what is held back: more is to come. */
  flush(exchange: WireExchange, handler: ResponseHandler): void {
    if (this.#headSent) return;
    this.#writeHead();
    const chunk = this.#held;
    this.#held = undefined;
    if (chunk === undefined) this.#reply.flushHeaders();
    else this.#send(chunk, exchange, handler);
  }

  end(): void {
    const reply = this.#reply;
    if (this.#headSent) {
      reply.end();
      return;
    }
    const { contentLength, end } = this.#head as ResponseHead;
    const chunk = this.#held;
    if (contentLength === undefined && end !== 'none') this.#headers.push('Content-Length', String(chunk?.length ?? 0));
    this.#writeHead();
    // As latin1 text, which node:http joins with the head into one write; the bytes are the same.
    if (chunk === undefined) reply.end();
    else reply.end(chunk.toString('latin1'), 'latin1');
  }

  /** Breaks a response that has begun: a clean end would pass a truncated answer off as whole. */
  break(): void {
    breakOff(this.#reply);
  }

  #writeHead(): void {
    const { status, reason } = this.#head as ResponseHead;
    this.#headSent = true;
    this.#reply.writeHead(
      status,
      reason !== STATUS_CODES[status] && INVALID_TEXT.test(reason) ? '' : reason,
      this.#headers,
    );
  }

  #send(chunk: Buffer, exchange: WireExchange, handler: ResponseHandler): void {
    const reply = this.#reply;
    if (reply.destroyed) return;
    const kept = exchange.keep(chunk);
    const flows = reply.write(kept, () => exchange.release(kept));
    // What left in the same moment need not be waited for, however large it was.
    if (flows || this.#paused || reply.writableLength === 0) return;
    this.#paused = true;
    exchange.pause();
    reply.once('drain', () => {
      this.#paused = false;
      exchange.resume(handler);
    });
  }
}

import type { ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Inbound } from '../exchange.ts';
import { type ReceivedHeaders, type ResponseHead, responseHead } from './response-headers.ts';

/** What node:http would not write in a status line. */
const INVALID_TEXT = /[^\t\x20-\x7e\x80-\xff]/;

/** A response that is dropped is read to its end, which keeps its connection, unless it is longer than so many bytes. */
const MAX_DROPPED = 64 * 1024;

/** What becomes of one attempt. */
export interface ReplyOutcome {
  /**
   * The head of a final response arrived. True: it is relayed, whatever happens next. False: it is dropped unseen, and
   * nothing more is heard of it; the browser is still owed an answer.
   */
  onHead(head: ResponseHead, status: number): boolean;
  /** The response was relayed whole. */
  onDone(): void;
  /** No response head came: the request may be tried again or refused. */
  onFailure(error: unknown): void;
  /** The response broke after its head, and so has the browser's; or the browser left, and the upstream was let go. */
  onBroken(error: unknown): void;
  onBytes(length: number): void;
}

/**
 * Relays one upstream response onto the browser's, chunk by chunk with back-pressure. A response that is complete in one
 * read leaves in one write. One that breaks midway breaks the browser's too: a clean end would pass a truncated answer
 * off as whole.
 */
export class ReplyRelay implements Dispatcher.DispatchHandler {
  readonly #inbound: Inbound;
  readonly #endpoint: string;
  readonly #reply: ServerResponse;
  readonly #extraHeaders: readonly string[];
  readonly #outcome: ReplyOutcome;
  #controller: Dispatcher.DispatchController | undefined;
  #head: ResponseHead | undefined;
  #status = 0;
  #statusText = '';
  /** The first chunk, held until it is known whether the response ends with it. */
  #held: Buffer | undefined;
  #headSent = false;
  #over = false;
  #dropped = 0;

  constructor(
    inbound: Inbound,
    endpoint: string,
    reply: ServerResponse,
    extraHeaders: readonly string[],
    outcome: ReplyOutcome,
  ) {
    this.#inbound = inbound;
    this.#endpoint = endpoint;
    this.#reply = reply;
    this.#extraHeaders = extraHeaders;
    this.#outcome = outcome;
  }

  /** The browser left. */
  abandon(): void {
    if (!this.#over) this.#controller?.abort(new Error('the client left'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#reply.destroyed) this.abandon();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: ReceivedHeaders,
    statusText = '',
  ): void {
    // Informational responses are for this hop; the final one is still to come.
    if (status < 200) return;
    const head = responseHead(headers, this.#inbound, this.#endpoint);
    if (!this.#outcome.onHead(head, status)) {
      this.#over = true;
      return;
    }
    this.#head = head;
    this.#status = status;
    this.#statusText = INVALID_TEXT.test(statusText) ? '' : statusText;
    process.nextTick(flushHeld, this);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) {
      this.#dropped += chunk.length;
      if (this.#dropped > MAX_DROPPED) controller.abort(new Error('the answer is not needed'));
      return;
    }
    this.#outcome.onBytes(chunk.length);
    if (!this.#headSent && this.#held === undefined) {
      this.#held = chunk;
      return;
    }
    if (!this.#headSent) this.flush();
    if (!this.#reply.write(chunk)) this.#pause(controller);
  }

  onResponseEnd(): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#headSent) this.#reply.end();
    else this.#sendWhole();
    this.#outcome.onDone();
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#head === undefined) {
      this.#outcome.onFailure(error);
      return;
    }
    // A reset, not a FIN: to a client of a length-less HTTP/1.0 response a FIN would look like the proper end.
    this.#reply.socket?.resetAndDestroy();
    this.#reply.destroy();
    this.#outcome.onBroken(error);
  }

  /** Sends what is held back once it is clear that more is to come. */
  flush(): void {
    if (this.#headSent || this.#over || this.#reply.destroyed || this.#head === undefined) return;
    this.#writeHead(this.#head.headers);
    const chunk = this.#held;
    this.#held = undefined;
    if (chunk === undefined) this.#reply.flushHeaders();
    else if (!this.#reply.write(chunk) && this.#controller !== undefined) this.#pause(this.#controller);
  }

  #sendWhole(): void {
    const head = this.#head as ResponseHead;
    const chunk = this.#held;
    const bodyless = this.#inbound.method === 'HEAD' || this.#status === 204 || this.#status === 304;
    if (head.contentLength === undefined && !bodyless) head.headers.push('Content-Length', String(chunk?.length ?? 0));
    this.#writeHead(head.headers);
    // As latin1 text, which node:http joins with the head into one write; the bytes are the same.
    if (chunk === undefined) this.#reply.end();
    else this.#reply.end(chunk.toString('latin1'), 'latin1');
  }

  #writeHead(headers: string[]): void {
    this.#headSent = true;
    for (const text of this.#extraHeaders) headers.push(text);
    this.#reply.writeHead(this.#status, this.#statusText, headers);
  }

  #pause(controller: Dispatcher.DispatchController): void {
    controller.pause();
    this.#reply.once('drain', () => controller.resume());
  }
}

function flushHeld(relay: ReplyRelay): void {
  relay.flush();
}

import { constants, Http2ServerResponse, type OutgoingHttpHeaders } from 'node:http2';

/** Fields that are about a connection of HTTP/1.1 and make a message of HTTP/2 malformed (RFC 9113 §8.2.2). */
const CONNECTION_SPECIFIC: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** How long the rest of a request that is answered is read and thrown away, in milliseconds. */
const LINGER = 1000;

/**
 * A reply over HTTP/2 that can be written like one of HTTP/1.1: status text and connection-specific fields are dropped,
 * and to destroy it resets its stream, never the connection that others share.
 */
export class Http2Reply extends Http2ServerResponse {
  /** Whether the connection is kept is not for one reply to say; kept for callers who say it of HTTP/1.1. */
  shouldKeepAlive = true;
  #dropsBody = false;
  #patience = 0;
  #stalled: NodeJS.Timeout | undefined;

  // @ts-expect-error -- declared as a property, which it does not have
  override get destroyed(): boolean {
    return this.stream.destroyed || this.stream.closed;
  }

  /** The end that a reset stream is given does not count. */
  // @ts-expect-error -- declared as a property, and an accessor in truth
  override get writableFinished(): boolean {
    return this.writableEnded && this.stream.writableFinished;
  }

  /** Resets the stream when its reader has taken nothing of what waits for it for so many milliseconds. */
  giveUpAfter(patience: number): void {
    this.#patience = patience;
    const stop = () => clearTimeout(this.#stalled);
    this.stream.on('drain', stop).once('finish', stop).once('close', stop);
  }

  override writeHead(statusCode: number, ...rest: readonly unknown[]): this {
    const given = rest.at(-1);
    const headers = Array.isArray(given) ? grouped(given) : grouped(Object.entries(given ?? {}).flat());
    // A body that an answer of 205 has against all rules (RFC 9110 §15.3.6) cannot be sent: node:http2 lets none pass.
    this.#dropsBody = statusCode === 205;
    if (this.#dropsBody) delete headers['content-length'];
    // HTTP/2 knows no status of its own above 599; such an answer is a server's failure (RFC 9110 §15).
    return super.writeHead(statusCode > 599 ? 500 : statusCode, headers) as this;
  }

  override write(chunk: string | Uint8Array, ...rest: never[]): boolean {
    if (this.#dropsBody) {
      const done = rest.at(-1) as unknown;
      if (typeof done === 'function') process.nextTick(done as () => void);
      return true;
    }
    const isTaken = super.write(chunk as string, ...rest);
    if (!isTaken) this.#watch();
    return isTaken;
  }

  override end(...args: never[]): this {
    if (this.writableEnded) return this;
    if (!this.req.complete) this.#discardRequest();
    if (this.#dropsBody) super.end();
    else super.end(...args);
    if (!this.stream.writableFinished && !this.destroyed) this.#watch();
    return this;
  }

  /** Breaks a reply that is not whole. A whole one is left to go out. */
  override destroy(): this {
    if (!this.writableEnded && !this.destroyed) this.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    return this;
  }

  /** What is left of a request whose answer goes out is not wanted; a reset tells so once that is out (RFC 9113 §8.1). */
  #discardRequest(): void {
    this.req.resume();
    const timer = setTimeout(() => this.stream.close(constants.NGHTTP2_NO_ERROR), LINGER);
    this.stream.once('close', () => clearTimeout(timer));
  }

  #watch(): void {
    clearTimeout(this.#stalled);
    if (this.#patience === 0) return;
    this.#stalled = setTimeout(() => this.stream.close(constants.NGHTTP2_CANCEL), this.#patience);
  }
}

function grouped(pairs: readonly unknown[]): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = Object.create(null);
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    const name = String(pairs[i]).toLowerCase();
    if (CONNECTION_SPECIFIC.has(name)) continue;
    const value = pairs[i + 1] as string | string[];
    const before = headers[name] as string | string[] | undefined;
    headers[name] = before === undefined ? value : [before, value].flat();
  }
  return headers;
}

import { Connection, type ConnectionOwner } from './connection.ts';
import type { ConnectionOptions, ResponseHandler, WireRequest } from './wire.ts';
import { WireError } from './wire-error.ts';

/** Idle time before a kept connection is closed; shorter than servers commonly allow, in milliseconds. */
const KEEP_ALIVE = 30_000;
/** A server that announces when it closes a connection is believed, but for this long, in milliseconds. */
const KEEP_ALIVE_MARGIN = 1_000;

interface Waiting {
  readonly request: WireRequest;
  readonly handler: ResponseHandler;
  readonly until: number;
}

/** The connections to one server. Requests beyond their number wait, first come, first served, no longer than an answer may take. */
export class ConnectionPool implements ConnectionOwner {
  readonly #options: ConnectionOptions;
  readonly #capacity: number;
  readonly #clock: () => number;
  readonly #all = new Set<Connection>();
  /** The one that was used last is used next: the others may grow old and be closed. */
  readonly #idle: Connection[] = [];
  #waiting: Waiting[] = [];
  #servesSoon = false;
  #draining = false;
  #closed = false;

  /** `clock` gives monotonic milliseconds and may be a tick ahead. */
  constructor(options: ConnectionOptions, capacity: number, clock: () => number) {
    this.#options = options;
    this.#capacity = capacity;
    this.#clock = clock;
  }

  now(): number {
    return this.#clock();
  }

  /** Starts an exchange, or lets it wait for its turn. Of a closed pool the handler hears at once. */
  start(request: WireRequest, handler: ResponseHandler): void {
    if (this.#closed) handler.onError(stopping(), false);
    else if (this.#waiting.length > 0 || !this.#place(request, handler)) {
      this.#waiting.push({ request, handler, until: this.#clock() + request.headersTimeout });
    }
  }

  /** Takes back a request that waits; one that has a connection is given up there. */
  cancel(handler: ResponseHandler): void {
    const at = this.#waiting.findIndex((waiting) => waiting.handler === handler);
    if (at !== -1) this.#waiting.splice(at, 1);
  }

  onIdle(connection: Connection, idleSeconds: number | undefined): void {
    const announced = idleSeconds === undefined ? KEEP_ALIVE : idleSeconds * 1000 - KEEP_ALIVE_MARGIN;
    if (announced <= 0 || (this.#draining && this.#waiting.length === 0)) {
      connection.close();
      return;
    }
    connection.deadline = this.#clock() + Math.min(KEEP_ALIVE, announced);
    this.#idle.push(connection);
    if (this.#waiting.length > 0) this.#serveSoon();
  }

  onClosed(connection: Connection): void {
    this.#all.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
    if (this.#waiting.length > 0) this.#serveSoon();
  }

  /** Looks for what has taken too long by `now`; to be called every now and then. */
  check(now: number): void {
    for (const connection of this.#all) connection.check(now);
    const late = this.#waiting.filter(({ until }) => until <= now);
    if (late.length === 0) return;
    this.#waiting = this.#waiting.filter(({ until }) => until > now);
    for (const { handler } of late) {
      handler.onError(new WireError('UPSTREAM_HEADERS_TIMEOUT', 'No connection became free in time.'), false);
    }
  }

  /** Keeps no connection any more: idle ones are closed at once, the others behind what they carry. */
  drain(): void {
    this.#draining = true;
    for (const connection of this.#idle.splice(0)) connection.close();
  }

  /** Keeps connections again. */
  undrain(): void {
    this.#draining = false;
  }

  /** It keeps no connection, has none and nobody waits for one. */
  get isDrained(): boolean {
    return this.#draining && this.#all.size === 0 && this.#waiting.length === 0;
  }

  /** Sends away those who wait for a connection. */
  shed(): void {
    for (const { handler } of this.#waiting.splice(0)) {
      handler.onError(new WireError('UPSTREAM_OUT_OF_USE', 'The server is given no more requests for now.'), false);
    }
  }

  /** Breaks what is under way, and takes nothing more. */
  close(): void {
    this.#closed = true;
    for (const { handler } of this.#waiting.splice(0)) handler.onError(stopping(), false);
    for (const connection of [...this.#all]) connection.close();
  }

  /** Gives whether there was a connection for it, or room for one. */
  #place(request: WireRequest, handler: ResponseHandler): boolean {
    const isFull = this.#all.size >= this.#capacity;
    const idle = request.fresh && !isFull ? undefined : this.#idle.pop();
    if (idle !== undefined && !request.fresh) {
      idle.start(request, handler);
      return true;
    }
    idle?.close();
    if (this.#all.size >= this.#capacity) return false;
    const connection = new Connection(this, this.#options);
    this.#all.add(connection);
    connection.start(request, handler);
    return true;
  }

  /**
   * Not before all that has arrived by now was read: what a server sent beyond its response must find the connection idle,
   * and close it, instead of passing for the answer to whoever waited for it.
   */
  #serveSoon(): void {
    if (this.#servesSoon) return;
    this.#servesSoon = true;
    setImmediate(() => {
      this.#servesSoon = false;
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        if (this.#place(next.request, next.handler)) continue;
        this.#waiting.unshift(next);
        return;
      }
      if (this.#draining) this.drain();
    });
  }
}

function stopping(): WireError {
  return new WireError('UPSTREAM_CLOSED', 'The gateway is stopping.');
}

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
  readonly #waiting: Waiting[] = [];
  #closing = false;

  /** `clock` gives monotonic milliseconds and may lag a tick behind. */
  constructor(options: ConnectionOptions, capacity: number, clock: () => number) {
    this.#options = options;
    this.#capacity = capacity;
    this.#clock = clock;
  }

  now(): number {
    return this.#clock();
  }

  /** Starts an exchange, or lets it wait for its turn. */
  start(request: WireRequest, handler: ResponseHandler): void {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (!idle.isIdle) continue;
      idle.start(request, handler);
      return;
    }
    if (this.#all.size >= this.#capacity) {
      this.#waiting.push({ request, handler, until: this.#clock() + request.headersTimeout });
      return;
    }
    const connection = new Connection(this, this.#options);
    this.#all.add(connection);
    connection.start(request, handler);
  }

  /** Takes back a request that waits; one that has a connection is given up there. */
  cancel(handler: ResponseHandler): void {
    const at = this.#waiting.findIndex((waiting) => waiting.handler === handler);
    if (at !== -1) this.#waiting.splice(at, 1);
  }

  onIdle(connection: Connection, idleSeconds: number | undefined): void {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      connection.start(next.request, next.handler);
      return;
    }
    const announced = idleSeconds === undefined ? KEEP_ALIVE : idleSeconds * 1000 - KEEP_ALIVE_MARGIN;
    if (this.#closing || announced <= 0) {
      connection.close();
      return;
    }
    connection.deadline = this.#clock() + Math.min(KEEP_ALIVE, announced);
    this.#idle.push(connection);
  }

  onClosed(connection: Connection): void {
    this.#all.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
    // Its place is free for whoever waits.
    const next = this.#closing ? undefined : this.#waiting.shift();
    if (next !== undefined) this.start(next.request, next.handler);
  }

  /** Looks for what has taken too long; to be called every now and then. */
  check(): void {
    const now = this.#clock();
    for (const connection of this.#all) connection.check(now);
    while (this.#waiting[0] !== undefined && this.#waiting[0].until <= now) {
      this.#waiting
        .shift()
        ?.handler.onError(new WireError('UPSTREAM_HEADERS_TIMEOUT', 'No connection became free in time.'), false);
    }
  }

  /** Takes no idle connection into use any more; those that carry an exchange are closed behind it. */
  drain(): void {
    this.#closing = true;
    for (const connection of [...this.#all]) connection.closeWhenIdle();
  }

  /** Connections open, those being made included. */
  get size(): number {
    return this.#all.size;
  }

  /** Breaks what is under way. */
  close(): void {
    this.#closing = true;
    for (const { handler } of this.#waiting.splice(0)) {
      handler.onError(new WireError('UPSTREAM_CLOSED', 'The gateway is stopping.'), false);
    }
    for (const connection of [...this.#all]) connection.close();
  }
}

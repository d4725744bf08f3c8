import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { ConnectionPool } from '../../src/http1/pool.ts';
import type { ResponseHead } from '../../src/http1/response-head.ts';
import type { ConnectionOptions, ResponseHandler, WireExchange, WireRequest } from '../../src/http1/wire.ts';
import type { MisbehavingUpstream } from '../kit/misbehaving-upstream.ts';

const read = (file: string) => readFileSync(new URL(`../kit/tls/${file}`, import.meta.url), 'utf8');

/** A key and its self-signed certificate for 127.0.0.1. */
export const IDENTITY = { key: read('loopback.key'), cert: read('loopback.pem') };

/** Milliseconds that pass when the test says so. */
export class Clock {
  now = 0;
}

export const TIMEOUTS = { connect: 1000, headers: 2000, idle: 3000 };

/** Connections to an upstream, over TLS if that is what it speaks. */
export function poolTo(
  upstream: Pick<MisbehavingUpstream, 'origin' | 'port'>,
  clock: Clock,
  capacity = 1,
  options: Partial<ConnectionOptions> = {},
): ConnectionPool {
  const tls = upstream.origin.startsWith('https:') ? { ca: IDENTITY.cert } : undefined;
  return new ConnectionPool(
    { host: '127.0.0.1', port: upstream.port, tls, connectTimeout: TIMEOUTS.connect, maxHead: 32 * 1024, ...options },
    capacity,
    () => clock.now,
  );
}

export function requestOf(target: string, more: Partial<WireRequest> & { readonly method?: string } = {}): WireRequest {
  const { method = 'GET', body, ...rest } = more;
  const isStream = body instanceof Readable;
  const length = Array.isArray(body) ? Buffer.concat(body).length : body instanceof Buffer ? body.length : undefined;
  const framing = isStream
    ? 'Transfer-Encoding: chunked\r\n'
    : length === undefined
      ? ''
      : `Content-Length: ${length}\r\n`;
  return {
    head: `${method} ${target} HTTP/1.1\r\nHost: upstream.test\r\n${framing}\r\n`,
    isHead: method === 'HEAD',
    body,
    chunked: isStream,
    fresh: false,
    headersTimeout: TIMEOUTS.headers,
    idleTimeout: TIMEOUTS.idle,
    ...rest,
  };
}

/** Hears one exchange out. Whatever it hears after the end is a defect, and remembered as such. */
export class Hearing implements ResponseHandler {
  head: ResponseHead | undefined;
  exchange: WireExchange | undefined;
  outcome: 'ended' | 'failed' | undefined;
  error: { readonly code?: string } | undefined;
  sent: boolean | undefined;
  readonly late: string[] = [];
  readonly over: Promise<this>;
  readonly #chunks: Buffer[] = [];
  #resolve: (self: this) => void = () => undefined;
  #steps: (() => void)[] = [];
  /** Does something at one of its calls. */
  readonly #act: Partial<
    Record<'onStart' | 'onHead' | 'onData' | 'onPause', (hearing: Hearing, chunk?: Buffer) => void>
  >;

  constructor(act: Hearing['act'] = {}) {
    this.#act = act;
    this.over = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get act() {
    return this.#act;
  }

  get body(): string {
    return Buffer.concat(this.#chunks).toString('latin1');
  }

  get bytes(): number {
    return this.#chunks.reduce((sum, { length }) => sum + length, 0);
  }

  /** Resolves once `holds` does; it is asked again whenever something was heard. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#steps.push(resolve));
  }

  /** From now on nothing may be heard. */
  abort(): void {
    this.outcome = 'failed';
    this.exchange?.abort(this);
  }

  onStart(exchange: WireExchange): void {
    this.exchange = exchange;
    this.#heard('onStart');
  }

  onHead(head: ResponseHead): void {
    this.head = head;
    this.#heard('onHead');
  }

  onData(chunk: Buffer): void {
    this.#chunks.push(Buffer.from(chunk));
    this.#heard('onData', chunk);
  }

  onPause(): void {
    this.#heard('onPause');
  }

  onEnd(): void {
    this.#end('ended');
  }

  onError(error: unknown, sent: boolean): void {
    this.error = error as { code?: string };
    this.sent = sent;
    this.#end('failed');
  }

  #end(outcome: 'ended' | 'failed'): void {
    if (this.outcome !== undefined) this.late.push(outcome);
    this.outcome = outcome;
    this.#wake();
    this.#resolve(this);
  }

  #heard(what: keyof Hearing['act'], chunk?: Buffer): void {
    if (this.outcome !== undefined) this.late.push(what);
    this.#act[what]?.(this, chunk);
    this.#wake();
  }

  #wake(): void {
    const steps = this.#steps;
    this.#steps = [];
    for (const step of steps) step();
  }
}

/** One exchange, from the request to whatever comes of it. */
export function exchange(pool: ConnectionPool, request: WireRequest, act: Hearing['act'] = {}): Hearing {
  const hearing = new Hearing(act);
  pool.start(request, hearing);
  return hearing;
}

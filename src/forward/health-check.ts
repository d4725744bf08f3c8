import type { ResponseHead } from '../http1/response-head.ts';
import type { ResponseHandler, WireExchange } from '../http1/wire.ts';
import type { HealthSettings, Upstream } from '../tenant.ts';
import type { Endpoints } from './endpoints.ts';
import type { Transport } from './transport.ts';

/** By how much of itself an interval may be shorter, so that several gateways do not ask at one moment. */
const JITTER = 0.25;

/**
 * Asks endpoints that are out of use whether they are well, so that no user's request has to find out. The question is an
 * unsigned GET: it spends no quota, and a Service that refuses it for want of a signature is well.
 */
export class HealthChecks {
  readonly #endpoints: Endpoints;
  readonly #transport: Transport;
  readonly #clock: () => number;
  /** Origin → epoch milliseconds of its next check; not a number while one is under way. */
  readonly #due = new Map<string, number>();

  constructor(endpoints: Endpoints, transport: Transport, clock: () => number) {
    this.#endpoints = endpoints;
    this.#transport = transport;
    this.#clock = clock;
  }

  /** Starts the checks that are due; to be called every now and then. */
  run(upstreams: readonly Upstream[]): void {
    const now = this.#clock();
    const out = new Map<string, { readonly upstream: Upstream; readonly since: number }>();
    for (const upstream of upstreams) {
      if (upstream.health === undefined) continue;
      for (const origin of upstream.endpoints) {
        const breaker = this.#endpoints.known(origin)?.breaker;
        if (breaker?.state === 'open') out.set(origin, { upstream, since: breaker.since });
      }
    }
    for (const origin of this.#due.keys()) {
      if (!out.has(origin)) this.#due.delete(origin);
    }
    for (const [origin, { upstream, since }] of out) {
      if (now >= (this.#due.get(origin) ?? this.#plan(origin, upstream, since))) this.#check(origin, upstream);
    }
  }

  #plan(origin: string, { health }: Upstream, now: number): number {
    const { interval } = health as HealthSettings;
    const due = now + interval * (1 - JITTER * Math.random());
    this.#due.set(origin, due);
    return due;
  }

  #check(origin: string, upstream: Upstream): void {
    this.#due.set(origin, Number.NaN);
    const { path, timeout } = upstream.health as HealthSettings;
    const host = upstream.signedHost ?? origin.slice(origin.indexOf('//') + 2);
    const head = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: countersign-health-check\r\nConnection: close\r\n\r\n`;
    const request = {
      head,
      isHead: false,
      body: undefined,
      chunked: false,
      fresh: true,
      headersTimeout: timeout,
      idleTimeout: timeout,
    };
    const check = new HealthCheck((isWell) => {
      const now = this.#clock();
      this.#plan(origin, upstream, now);
      if (isWell) this.#endpoints.known(origin)?.breaker.probed(now);
    });
    this.#transport.pool(upstream, origin).start(request, check);
  }
}

/** One question and its answer, of which the status alone counts. */
class HealthCheck implements ResponseHandler {
  readonly #done: (isWell: boolean) => void;
  #exchange: WireExchange | undefined;

  constructor(done: (isWell: boolean) => void) {
    this.#done = done;
  }

  onStart(exchange: WireExchange): void {
    this.#exchange = exchange;
  }

  onHead({ status }: ResponseHead): void {
    this.#exchange?.abort(this);
    this.#done(status < 500);
  }

  onData(): void {}

  onPause(): void {}

  onEnd(): void {}

  onError(): void {
    this.#done(false);
  }
}

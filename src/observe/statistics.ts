import { FAILURES, type FailedRequest, failureOf } from './failed-request.ts';
import { quantileOf } from './latency-scale.ts';
import type { RequestObserver } from './observers.ts';
import type { RequestEvent } from './request-event.ts';
import { SecondRing } from './second-ring.ts';
import {
  CLIENT_ERRORS,
  errorColumn,
  LATENCIES,
  latencyColumn,
  REQUESTS,
  SERVER_ERRORS,
  TRAFFIC_COLUMNS,
} from './traffic-row.ts';
import type { Traffic as TrafficNews } from './traffic-tally.ts';

/** How far back the process as a whole is remembered, and each of its tenants, in seconds. */
export const REMEMBERED = 300;
const REMEMBERED_TENANT = 60;
/** Requests of a stretch of time. Percentiles are milliseconds, null where nothing was measured. */
export interface Traffic {
  readonly requests: number;
  /** Answered with a 4xx, by the gateway or the upstream. */
  readonly clientErrors: number;
  /** Answered with a 5xx, or broken by the upstream midway. */
  readonly serverErrors: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

export interface RefusalCount {
  readonly code: string;
  readonly status: number;
  /** In the last five minutes. */
  readonly recent: number;
  /** Since the process started. */
  readonly total: number;
}

/** What the status page shows of the last minutes, kept in memory: a fixed number of counters per second. */
export class Statistics implements RequestObserver {
  readonly #clock: () => number;
  readonly #all: SecondRing;
  readonly #tenants = new Map<string, SecondRing>();
  readonly #refusals = new Map<string, { readonly status: number; readonly ring: SecondRing; total: number }>();
  readonly #failures: FailedRequest[] = [];
  #requests = 0;
  #clientErrors = 0;
  #serverErrors = 0;

  /** `clock`: monotonic milliseconds, on the scale of `RequestEvent.startedMono`. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
    this.#all = new SecondRing(REMEMBERED + 1, TRAFFIC_COLUMNS, this.#second());
  }

  /** Requests since the process started. */
  get totals(): { readonly requests: number; readonly clientErrors: number; readonly serverErrors: number } {
    return { requests: this.#requests, clientErrors: this.#clientErrors, serverErrors: this.#serverErrors };
  }

  request(event: RequestEvent): void {
    const now = this.#clock();
    const second = Math.floor(now / 1000);
    const error = errorColumn(event);
    const latency = latencyColumn(event, now);
    this.#requests++;
    if (error === SERVER_ERRORS) this.#serverErrors++;
    else if (error === CLIENT_ERRORS) this.#clientErrors++;
    count(this.#all, second, error, latency);
    if (event.tenant !== undefined) count(this.#ringOf(event.tenant, second), second, error, latency);
    if (event.code !== undefined) this.#countRefusal(event.code, event.status, second);
    if (error === SERVER_ERRORS) this.#remember(failureOf(event));
  }

  /** Adds what another process has counted since it last told, to the present second. */
  absorb({ all, tenants, refusals, failures }: TrafficNews): void {
    const second = this.#second();
    this.#requests += all[REQUESTS] ?? 0;
    this.#clientErrors += all[CLIENT_ERRORS] ?? 0;
    this.#serverErrors += all[SERVER_ERRORS] ?? 0;
    this.#all.addRow(second, all);
    for (const [tenant, row] of tenants) this.#ringOf(tenant, second).addRow(second, row);
    for (const [code, { status, count }] of refusals) this.#countRefusal(code, status, second, count);
    for (const failure of failures) this.#remember(failure);
  }

  /** The last `seconds` whole seconds, of one tenant or of all. */
  recent(seconds: number, tenant?: string): Traffic {
    const ring = tenant === undefined ? this.#all : this.#tenants.get(tenant);
    const until = this.#second();
    return trafficOf(ring?.sum(until - seconds, until));
  }

  /** The last `steps` stretches of `step` whole seconds each, oldest first, of one tenant or of all. */
  history(step: number, steps: number, tenant?: string): Traffic[] {
    const ring = tenant === undefined ? this.#all : this.#tenants.get(tenant);
    const until = this.#second();
    return Array.from({ length: steps }, (_, i) => {
      const from = until - (steps - i) * step;
      return trafficOf(ring?.sum(from, from + step));
    });
  }

  /** What the gateway itself refused, most often first. */
  refusals(): RefusalCount[] {
    const until = this.#second() + 1;
    return [...this.#refusals]
      .map(([code, { status, ring, total }]) => ({
        code,
        status,
        recent: ring.sum(until - REMEMBERED, until)[0] ?? 0,
        total,
      }))
      .toSorted((a, b) => b.recent - a.recent || b.total - a.total);
  }

  /** The latest failed requests, newest first. */
  failures(): readonly FailedRequest[] {
    return this.#failures.toReversed();
  }

  #second(): number {
    return Math.floor(this.#clock() / 1000);
  }

  #ringOf(tenant: string, second: number): SecondRing {
    let ring = this.#tenants.get(tenant);
    if (ring === undefined) {
      ring = new SecondRing(REMEMBERED_TENANT + 1, TRAFFIC_COLUMNS, second);
      this.#tenants.set(tenant, ring);
    }
    return ring;
  }

  #countRefusal(code: string, status: number, second: number, count = 1): void {
    let refusal = this.#refusals.get(code);
    if (refusal === undefined) {
      refusal = { status, ring: new SecondRing(REMEMBERED + 1, 1, second), total: 0 };
      this.#refusals.set(code, refusal);
    }
    refusal.ring.add(second, 0, count);
    refusal.total += count;
  }

  #remember(failure: FailedRequest): void {
    this.#failures.push(failure);
    if (this.#failures.length > FAILURES) this.#failures.shift();
  }
}

function count(ring: SecondRing, second: number, error: number, latency: number): void {
  ring.add(second, REQUESTS);
  if (error !== REQUESTS) ring.add(second, error);
  if (latency !== REQUESTS) ring.add(second, latency);
}

function trafficOf(sums: Float64Array = new Float64Array(TRAFFIC_COLUMNS)): Traffic {
  return {
    requests: sums[REQUESTS] ?? 0,
    clientErrors: sums[CLIENT_ERRORS] ?? 0,
    serverErrors: sums[SERVER_ERRORS] ?? 0,
    p50: quantileOf(sums, LATENCIES, 0.5),
    p95: quantileOf(sums, LATENCIES, 0.95),
    p99: quantileOf(sums, LATENCIES, 0.99),
  };
}

import { FAILURES, type FailedRequest, failureOf } from './failed-request.ts';
import type { RequestObserver } from './observers.ts';
import type { RequestEvent } from './request-event.ts';
import { errorColumn, latencyColumn, REQUESTS, SERVER_ERRORS, TRAFFIC_COLUMNS } from './traffic-row.ts';

/** What happened since it was last told; for `Statistics.absorb`. */
export interface Traffic {
  readonly all: Uint32Array;
  readonly tenants: ReadonlyMap<string, Uint32Array>;
  readonly refusals: ReadonlyMap<string, { readonly status: number; readonly count: number }>;
  /** The newest, oldest first. */
  readonly failures: readonly FailedRequest[];
}

/** Counts what `Statistics` of another process wants to know. */
export class TrafficTally implements RequestObserver {
  #all = new Uint32Array(TRAFFIC_COLUMNS);
  #tenants = new Map<string, Uint32Array>();
  #refusals = new Map<string, { status: number; count: number }>();
  #failures: FailedRequest[] = [];

  request(event: RequestEvent): void {
    const { tenant, code, status } = event;
    const error = errorColumn(event);
    const latency = latencyColumn(event, performance.now());
    count(this.#all, error, latency);
    if (tenant !== undefined) {
      let row = this.#tenants.get(tenant);
      if (row === undefined) {
        row = new Uint32Array(TRAFFIC_COLUMNS);
        this.#tenants.set(tenant, row);
      }
      count(row, error, latency);
    }
    if (code !== undefined) {
      const refusal = this.#refusals.get(code);
      if (refusal === undefined) this.#refusals.set(code, { status, count: 1 });
      else refusal.count++;
    }
    if (error !== SERVER_ERRORS) return;
    this.#failures.push(failureOf(event));
    if (this.#failures.length > FAILURES) this.#failures.shift();
  }

  /** Gives what was counted and begins anew. */
  take(): Traffic {
    const taken = { all: this.#all, tenants: this.#tenants, refusals: this.#refusals, failures: this.#failures };
    this.#all = new Uint32Array(TRAFFIC_COLUMNS);
    this.#tenants = new Map();
    this.#refusals = new Map();
    this.#failures = [];
    return taken;
  }
}

function count(row: Uint32Array, error: number, latency: number): void {
  add(row, REQUESTS);
  if (error !== REQUESTS) add(row, error);
  if (latency !== REQUESTS) add(row, latency);
}

function add(row: Uint32Array, column: number): void {
  row[column] = (row[column] ?? 0) + 1;
}

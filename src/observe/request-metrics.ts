import { METHODS } from '../exchange.ts';
import { isTimed, type RequestObserver } from './observers.ts';
import type { RequestEvent } from './request-event.ts';

/** Upper bounds of the buckets of every duration histogram, in seconds. */
export const DURATION_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Durations in seconds, by `DURATION_BOUNDS`; the last count is of those beyond. */
export class DurationHistogram {
  readonly counts = new Float64Array(DURATION_BOUNDS.length + 1);
  sum = 0;

  observe(seconds: number): void {
    let bucket = 0;
    while (bucket < DURATION_BOUNDS.length && seconds > (DURATION_BOUNDS[bucket] ?? 0)) bucket++;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sum += seconds;
  }
}

/** The requests of one combination of labels. */
export interface RequestCell {
  readonly labels: {
    readonly tenant: string;
    readonly route: string;
    readonly method: string;
    readonly status: string;
  };
  count: number;
  readonly durations: DurationHistogram;
}

/** Refusals of one code on one tenant. */
export interface RefusalCell {
  readonly labels: { readonly tenant: string; readonly code: string };
  count: number;
}

type Statuses = Map<string, RequestCell>;
type Methods = Map<string, Statuses>;
type Routes = Map<string, Methods>;
type Codes = Map<string, RefusalCell>;

const KNOWN_METHODS: ReadonlySet<string> = new Set([...METHODS, 'OPTIONS']);

/**
 * Counts for Prometheus, kept as plain numbers that are found by a few map look-ups: a client library that joins and
 * hashes labels on every request costs more than all of the request's other bookkeeping. Labels are bounded: a tenant
 * or route is one that is configured, a method or code one of a fixed list, an endpoint one that is configured.
 */
export class RequestMetrics implements RequestObserver {
  readonly #tenants = new Map<string, Routes>();
  readonly #refusals = new Map<string, Codes>();
  /** Endpoint → time from an attempt's start to the head of its response. */
  readonly upstream = new Map<string, DurationHistogram>();

  request(event: RequestEvent): void {
    const cell = this.#cellOf(event);
    cell.count++;
    if (isTimed(event)) cell.durations.observe((performance.now() - event.startedMono) / 1000);
    if (event.code !== undefined) this.#refusalOf(event.tenant ?? '', event.code).count++;
    if (event.upstreamMs !== undefined && event.endpoint !== undefined) {
      get(this.upstream, event.endpoint, newHistogram).observe(event.upstreamMs / 1000);
    }
  }

  requests(): RequestCell[] {
    return [...this.#tenants.values()].flatMap((routes) =>
      [...routes.values()].flatMap((methods) => [...methods.values()].flatMap((statuses) => [...statuses.values()])),
    );
  }

  refusals(): RefusalCell[] {
    return [...this.#refusals.values()].flatMap((codes) => [...codes.values()]);
  }

  #cellOf(event: RequestEvent): RequestCell {
    const tenant = event.tenant ?? '';
    const route = routeOf(event);
    const method = KNOWN_METHODS.has(event.method) ? event.method : 'other';
    const status = statusOf(event);
    const cells = get(get(get(this.#tenants, tenant, newRoutes), route, newMethods), method, newStatuses);
    let cell = cells.get(status);
    if (cell === undefined) {
      cell = { labels: { tenant, route, method, status }, count: 0, durations: new DurationHistogram() };
      cells.set(status, cell);
    }
    return cell;
  }

  #refusalOf(tenant: string, code: string): RefusalCell {
    const cells = get(this.#refusals, tenant, newCodes);
    let cell = cells.get(code);
    if (cell === undefined) {
      cell = { labels: { tenant, code }, count: 0 };
      cells.set(code, cell);
    }
    return cell;
  }
}

/** The configured prefix, the gateway's own endpoints, or everything else; never a path somebody typed. */
function routeOf({ route, path }: RequestEvent): string {
  return route ?? (path?.startsWith('/-/') ? '/-/' : 'other');
}

function statusOf({ status, aborted }: RequestEvent): string {
  if (aborted) return 'aborted';
  if (status >= 500) return '5xx';
  if (status >= 400) return '4xx';
  if (status >= 300) return '3xx';
  return status >= 200 ? '2xx' : '1xx';
}

function get<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

const newRoutes = (): Routes => new Map();
const newMethods = (): Methods => new Map();
const newStatuses = (): Statuses => new Map();
const newCodes = (): Codes => new Map();
const newHistogram = () => new DurationHistogram();

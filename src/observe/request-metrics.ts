import { METHODS } from '../exchange.ts';
import { isTimed, type RequestObserver } from './observers.ts';
import type { RequestEvent } from './request-event.ts';

/** Upper bounds of the buckets of every duration histogram, in seconds. */
export const DURATION_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Durations in seconds, by `DURATION_BOUNDS`; the last count is of those beyond. */
export class DurationHistogram {
  readonly counts = new Float64Array(DURATION_BOUNDS.length + 1);
  sum = 0;

  /** Adds what another histogram of the same bounds has counted. */
  add({ counts, sum }: Pick<DurationHistogram, 'counts' | 'sum'>): void {
    for (const [i, count] of counts.entries()) this.counts[i] = (this.counts[i] ?? 0) + count;
    this.sum += sum;
  }

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

/** What was counted in another process since it last told; for `RequestMetrics.absorb`. */
export interface RequestCounts {
  readonly requests: readonly {
    readonly labels: RequestCell['labels'];
    readonly count: number;
    readonly durations: Pick<DurationHistogram, 'counts' | 'sum'>;
  }[];
  readonly refusals: readonly Readonly<RefusalCell>[];
  readonly upstream: ReadonlyMap<string, Pick<DurationHistogram, 'counts' | 'sum'>>;
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

  /** Gives what was counted and begins anew. */
  take(): RequestCounts {
    const counts = { requests: this.requests(), refusals: this.refusals(), upstream: new Map(this.upstream) };
    this.#tenants.clear();
    this.#refusals.clear();
    this.upstream.clear();
    return counts;
  }

  absorb({ requests, refusals, upstream }: RequestCounts): void {
    for (const { labels, count, durations } of requests) {
      const cell = this.#cellAt(labels.tenant, labels.route, labels.method, labels.status);
      cell.count += count;
      cell.durations.add(durations);
    }
    for (const { labels, count } of refusals) this.#refusalOf(labels.tenant, labels.code).count += count;
    for (const [endpoint, durations] of upstream) get(this.upstream, endpoint, newHistogram).add(durations);
  }

  #cellOf(event: RequestEvent): RequestCell {
    const method = KNOWN_METHODS.has(event.method) ? event.method : 'other';
    return this.#cellAt(event.tenant ?? '', routeOf(event), method, statusOf(event));
  }

  #cellAt(tenant: string, route: string, method: string, status: string): RequestCell {
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

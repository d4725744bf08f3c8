import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client';
import type { Load } from '../observe/process-load.ts';
import { DURATION_BOUNDS, type DurationHistogram } from '../observe/request-metrics.ts';
import type { NearCacheState } from '../session/near-cache.ts';
import { describeKeypairs, figure } from './keypairs.ts';
import type { OperatorParts, WorkerState } from './parts.ts';

const BREAKER_VALUES = { closed: 0, 'half-open': 1, open: 2 } as const;

type Labels = Readonly<Record<string, string>>;
/** A sample of a metric: its labels and value. */
type Sample = readonly [Labels, number];

/**
 * The metrics of the process, gathered when they are asked for from what its parts count anyway. Labels are names from
 * the configuration or from fixed lists; an access key is none of them, nor is anything a client can choose.
 */
export function createMetrics(parts: OperatorParts): { readonly contentType: string; render(): Promise<string> } {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  requestMetrics(registry, parts);
  upstreamMetrics(registry, parts);
  bodyMetrics(registry, parts);
  sessionMetrics(registry, parts);
  configurationMetrics(registry, parts);
  if (parts.workers !== undefined) workerMetrics(registry, parts.workers);
  return { contentType: registry.contentType, render: () => registry.metrics() };
}

function requestMetrics(registry: Registry, { requests }: OperatorParts): void {
  const labels = ['tenant', 'route', 'method', 'status'];
  counter(registry, 'countersign_http_requests_total', 'Requests and upgrades that are over.', labels, () =>
    requests.requests().map((cell) => [cell.labels, cell.count]),
  );
  histogram(
    registry,
    'countersign_http_request_duration_seconds',
    'From the head of a request to the end of its answer; upgrades, event streams and broken answers left out.',
    () => requests.requests().map((cell) => [cell.labels, cell.durations]),
  );
  counter(registry, 'countersign_refusals_total', 'Answers by the gateway itself.', ['tenant', 'code'], () =>
    requests.refusals().map((cell) => [cell.labels, cell.count]),
  );
}

function upstreamMetrics(registry: Registry, parts: OperatorParts): void {
  const { snapshot, endpoints, requests, clock } = parts;
  const states = () => {
    const origins = new Set(snapshot().tenants.flatMap(({ upstream }) => upstream.endpoints));
    return [...origins].map((origin) => endpoints.describe(origin, clock()));
  };
  const name = 'countersign_upstream';
  counter(registry, `${name}_attempts_total`, 'Attempts that are over, by outcome.', ['endpoint', 'outcome'], () =>
    states().flatMap(({ origin: endpoint, attempts }) =>
      Object.entries(attempts).map(([outcome, count]): Sample => [{ endpoint, outcome }, count]),
    ),
  );
  histogram(registry, `${name}_response_seconds`, 'From the start of an attempt to the head of its response.', () =>
    [...requests.upstream].map(([endpoint, durations]) => [{ endpoint }, durations]),
  );
  gauge(registry, `${name}_pending`, 'Attempts under way.', ['endpoint'], () =>
    states().map(({ origin: endpoint, pending }) => [{ endpoint }, pending]),
  );
  gauge(
    registry,
    `${name}_cooling`,
    '1 while an endpoint is tried last because it could not be reached.',
    ['endpoint'],
    () => states().map(({ origin: endpoint, cooling }) => [{ endpoint }, Number(cooling)]),
  );
  gauge(registry, `${name}_breaker`, '0 closed, 1 half-open, 2 open: out of use.', ['endpoint'], () =>
    states().map(({ origin: endpoint, breaker }) => [{ endpoint }, BREAKER_VALUES[breaker.state]]),
  );
  counter(registry, `${name}_breaker_transitions_total`, 'Changes of the breaker.', ['endpoint', 'to'], () =>
    states().flatMap(({ origin: endpoint, breaker }) =>
      Object.entries(breaker.entered).map(([to, count]): Sample => [{ endpoint, to }, count]),
    ),
  );
  counter(
    registry,
    `${name}_retries_total`,
    'Requests that failed on an endpoint: sent again, or denied by the budget.',
    ['endpoint', 'result'],
    () =>
      states().flatMap(({ origin: endpoint, retries }) =>
        Object.entries(retries).map(([result, count]): Sample => [{ endpoint, result }, count]),
      ),
  );
  gauge(registry, `${name}_clock_offset_seconds`, 'Added to our time in signatures.', ['endpoint'], () =>
    states().map(({ origin: endpoint, clock: { offset } }) => [{ endpoint }, offset / 1000]),
  );
  gauge(registry, `${name}_clock_alarm`, '1 while its clock is more than 5 min from ours.', ['endpoint'], () =>
    states().map(({ origin: endpoint, clock: { state } }) => [{ endpoint }, Number(state === 'alarm')]),
  );
  gauge(registry, `${name}_clock_skew_seconds`, 'Its clock minus ours, estimated.', ['endpoint'], () =>
    states().flatMap(({ origin: endpoint, skew }): Sample[] => (skew ? [[{ endpoint }, skew.ms / 1000]] : [])),
  );
  const quotas = (figureName: 'limit' | 'remaining') => (): Sample[] =>
    snapshot().tenants.flatMap((tenant) => {
      const current = describeKeypairs(tenant, clock()).filter((keypair) => keypair.current);
      return current.flatMap(({ role, quota }): Sample[] => {
        const value = figure(quota?.[figureName]);
        return value === null ? [] : [[{ tenant: tenant.name, role }, value]];
      });
    });
  const labels = ['tenant', 'role'];
  gauge(registry, 'countersign_keypairs_set_aside', 'Keypairs of a role that the Service refuses.', labels, () =>
    snapshot().tenants.flatMap((tenant) =>
      Object.entries(Object.groupBy(describeKeypairs(tenant, clock()), ({ role }) => role)).map(
        ([role, ring = []]): Sample => [
          { tenant: tenant.name, role },
          ring.filter(({ setAsideUntil }) => setAsideUntil !== undefined).length,
        ],
      ),
    ),
  );
  gauge(registry, 'countersign_keypair_quota_limit', 'X-RateLimit-Limit as last seen.', labels, quotas('limit'));
  gauge(
    registry,
    'countersign_keypair_quota_remaining',
    'X-RateLimit-Remaining as last seen.',
    labels,
    quotas('remaining'),
  );
}

function bodyMetrics(registry: Registry, { bodies }: OperatorParts): void {
  const each = (figureName: 'used' | 'capacity') => (): Sample[] => [
    [{ place: 'memory' }, bodies.memory[figureName]],
    [{ place: 'disk' }, bodies.disk[figureName]],
  ];
  const labels = ['place'];
  gauge(registry, 'countersign_bodies_bytes', 'Request bodies that are held, or have room kept.', labels, each('used'));
  gauge(registry, 'countersign_bodies_limit_bytes', 'What they may take up together.', labels, each('capacity'));
}

function sessionMetrics(registry: Registry, { store, sessions, streams }: OperatorParts): void {
  const one = (value: () => number) => () => [[{}, value()]] as const;
  counter(
    registry,
    'countersign_sessions_created_total',
    'Sessions opened.',
    [],
    one(() => sessions.totals.created),
  );
  counter(
    registry,
    'countersign_sessions_ended_total',
    'Sessions ended before their time.',
    [],
    one(() => sessions.totals.ended),
  );
  gauge(
    registry,
    'countersign_session_store_up',
    '1 while the session store answers.',
    [],
    one(() => Number(store.ready)),
  );
  if (store.nearCache !== undefined) nearCacheMetrics(registry, () => store.nearCache ?? NO_NEAR_CACHE);
  gauge(
    registry,
    'countersign_live_streams',
    'Open WebSockets and event streams.',
    [],
    one(() => streams.count),
  );
}

const NO_NEAR_CACHE: NearCacheState = { up: false, entries: 0, hits: 0, misses: 0 };

function nearCacheMetrics(registry: Registry, read: () => NearCacheState): void {
  const name = 'countersign_near_cache';
  counter(registry, `${name}_reads_total`, 'Sessions looked up, by whether memory had them.', ['result'], () => [
    [{ result: 'hit' }, read().hits],
    [{ result: 'miss' }, read().misses],
  ]);
  gauge(registry, `${name}_entries`, 'Sessions in memory.', [], () => [[{}, read().entries]]);
  gauge(registry, `${name}_up`, '0 while it is bypassed because changes would not be heard of.', [], () => [
    [{}, Number(read().up)],
  ]);
}

function workerMetrics(registry: Registry, workers: () => readonly WorkerState[]): void {
  const each = (value: (load: Load) => number) => () =>
    workers().map(({ id, load }): Sample => [{ worker: String(id) }, value(load)]);
  const name = 'countersign_worker';
  gauge(registry, 'countersign_workers', 'Workers that serve requests.', [], () => [[{}, workers().length]]);
  gauge(
    registry,
    `${name}_resident_memory_bytes`,
    'Memory of a worker.',
    ['worker'],
    each(({ rss }) => rss),
  );
  gauge(
    registry,
    `${name}_cpu_ratio`,
    'Share of one core a worker uses.',
    ['worker'],
    each(({ cpu }) => cpu),
  );
  gauge(
    registry,
    `${name}_eventloop_delay_seconds`,
    'Delay of a worker’s event loop, 99th percentile.',
    ['worker'],
    each(({ eventLoopDelayMs }) => eventLoopDelayMs / 1000),
  );
}

function configurationMetrics(registry: Registry, { reloads, phase, version }: OperatorParts): void {
  if (reloads !== undefined) {
    counter(registry, 'countersign_config_reloads_total', 'Reloads by result.', ['result'], () => [
      [{ result: 'ok' }, reloads.counts.ok],
      [{ result: 'failed' }, reloads.counts.failed],
    ]);
    gauge(registry, 'countersign_config_last_reload_successful', '0 while the file on disk has faults.', [], () => [
      [{}, Number(reloads.last?.ok ?? true)],
    ]);
  }
  gauge(registry, 'countersign_draining', '1 from the stop signal on.', [], () => [
    [{}, Number(phase() === 'draining')],
  ]);
  gauge(registry, 'countersign_build_info', 'Always 1.', ['version', 'node'], () => [
    [{ version, node: process.version }, 1],
  ]);
}

function counter(
  registry: Registry,
  name: string,
  help: string,
  labelNames: string[],
  read: () => readonly Sample[],
): void {
  new Counter({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const [labels, value] of read()) this.inc(labels, value);
    },
  });
}

function gauge(
  registry: Registry,
  name: string,
  help: string,
  labelNames: string[],
  read: () => readonly Sample[],
): void {
  new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const [labels, value] of read()) this.set(labels, value);
    },
  });
}

/** The client library's own histogram can be observed but not set, so this one gives its samples itself. */
function histogram(registry: Registry, name: string, help: string, read: () => [Labels, DurationHistogram][]): void {
  const get = async () => ({
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    values: read().flatMap(([labels, { counts, sum }]) => {
      let total = 0;
      const buckets = [...counts].map((count, i) => {
        total += count;
        return { metricName: `${name}_bucket`, labels: { ...labels, le: DURATION_BOUNDS[i] ?? '+Inf' }, value: total };
      });
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: total },
      ];
    }),
  });
  registry.registerMetric({ name, get, reset: () => undefined } as unknown as Metric);
}

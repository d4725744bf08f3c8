import { busiest, ProcessLoad } from '../observe/process-load.ts';
import type { Traffic } from '../observe/statistics.ts';
import { endpointsToJson, failureToJson, iso, keypairsToJson, reloadToJson } from './documents.ts';
import { readinessOf } from './health.ts';
import { figure } from './keypairs.ts';
import type { OperatorParts } from './parts.ts';
import type { Probe } from './probe.ts';
import type { StatusDocument } from './schema.ts';

/** The chart: five minutes in steps of as many seconds. */
const STEP = 5;
const STEPS = 60;
/** A tenant's small chart: a minute. */
const TENANT_STEP = 2;
const TENANT_STEPS = 30;
/** Several people watching cost no more than one, in milliseconds. */
const KEPT = 900;
/** Sessions are counted by looking at all of them. */
const COUNT_KEPT = 5000;

type Board = Omit<StatusDocument, 'at'>;

/** The one document the status page lives on. */
export class StatusBoard {
  readonly #parts: OperatorParts;
  readonly #probe: Probe;
  readonly #startedAt: number;
  readonly #load = new ProcessLoad();
  #latest: { readonly at: number; readonly document: Promise<StatusDocument> } | undefined;
  #counted: { readonly at: number; readonly counts: Promise<ReadonlyMap<string, number | null>> } | undefined;

  constructor(parts: OperatorParts, probe: Probe) {
    this.#parts = parts;
    this.#probe = probe;
    this.#startedAt = parts.clock() - performance.now();
  }

  read(): Promise<StatusDocument> {
    const now = performance.now();
    if (this.#latest === undefined || now - this.#latest.at > KEPT) {
      this.#latest = { at: now, document: this.#compose() };
    }
    return this.#latest.document;
  }

  close(): void {
    this.#load.close();
  }

  async #compose(): Promise<StatusDocument> {
    const { snapshot, statistics, store, sessions, streams, reloads, log, clock, version, workers } = this.#parts;
    const { tenants, sessions: sessionSettings } = snapshot();
    const [readiness, endpoints, counts] = await Promise.all([
      readinessOf(this.#parts, this.#probe),
      endpointsToJson(this.#parts, this.#probe),
      this.#sessionCounts(),
    ]);
    const board: Board = {
      startedAt: iso(this.#startedAt),
      version,
      node: process.version,
      ready: readiness.status === 'ready',
      checks: { ...readiness.checks },
      traffic: {
        total: { ...statistics.totals },
        lastTenSeconds: trafficToJson(statistics.recent(10)),
        lastMinute: trafficToJson(statistics.recent(60)),
        history: historyToJson(statistics.history(STEP, STEPS)),
      },
      tenants: tenants.map(({ name }) => ({
        name,
        ready: readiness.tenants[name]?.status === 'ready',
        sessions: counts.get(name) ?? null,
        lastMinute: trafficToJson(statistics.recent(60, name)),
        history: statistics.history(TENANT_STEP, TENANT_STEPS, name).map(({ requests }) => requests),
      })),
      refusals: statistics.refusals().map((refusal) => ({ ...refusal })),
      failures: statistics.failures().map(failureToJson),
      keypairs: keypairsToJson(tenants, clock()).map((keypair) => ({
        ...keypair,
        limit: figure(keypair.quota?.limit),
        remaining: figure(keypair.quota?.remaining),
      })),
      endpoints,
      sessions: {
        store: sessionSettings.store.reveal() === 'memory' ? 'memory' : 'redis',
        total: sum([...counts.values()]),
        ...sessions.totals,
        streams: streams.count,
        nearCache: nearCacheToJson(store),
      },
      reload: reloads?.last === undefined ? null : reloadToJson(reloads.last),
      process: {
        ...busiest([this.#load.read(), ...(workers?.() ?? []).map(({ load }) => load)]),
        logLevel: log.level(),
      },
    };
    return { at: iso(clock()), ...board };
  }

  #sessionCounts(): Promise<ReadonlyMap<string, number | null>> {
    const now = performance.now();
    if (this.#counted === undefined || now - this.#counted.at > COUNT_KEPT) {
      this.#counted = { at: now, counts: this.#countSessions() };
    }
    return this.#counted.counts;
  }

  async #countSessions(): Promise<ReadonlyMap<string, number | null>> {
    const names = this.#parts.snapshot().tenants.map(({ name }) => name);
    const count = async (tenant: string) => this.#parts.sessions.count({ tenant });
    const counts = await Promise.all(names.map(async (name) => [name, await count(name).catch(() => null)] as const));
    return new Map(counts);
  }
}

function nearCacheToJson({ nearCache }: OperatorParts['store']): StatusDocument['sessions']['nearCache'] {
  if (nearCache === undefined) return null;
  const { up, entries, hits, misses } = nearCache;
  return { up, entries, hits, misses };
}

function trafficToJson({ requests, clientErrors, serverErrors, p50, p95, p99 }: Traffic): Traffic {
  return { requests, clientErrors, serverErrors, p50: rounded(p50), p95: rounded(p95), p99: rounded(p99) };
}

function historyToJson(rows: readonly Traffic[]): StatusDocument['traffic']['history'] {
  return {
    step: STEP,
    requests: rows.map(({ requests }) => requests),
    clientErrors: rows.map(({ clientErrors }) => clientErrors),
    serverErrors: rows.map(({ serverErrors }) => serverErrors),
    p50: rows.map(({ p50 }) => rounded(p50)),
    p95: rows.map(({ p95 }) => rounded(p95)),
    p99: rows.map(({ p99 }) => rounded(p99)),
  };
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 10) / 10;
}

function sum(counts: readonly (number | null)[]): number | null {
  return counts.reduce((total, count) => (total === null || count === null ? null : total + count), 0 as number | null);
}

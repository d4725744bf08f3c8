import type { BudgetFigures } from '../forward/bodies/budget.ts';
import type { EndpointState } from '../forward/endpoint.ts';
import type { Gateway } from '../gateway-contract.ts';
import type { KeypairRefusal } from '../keypair-ring.ts';
import type { Load, ProcessLoad } from '../observe/process-load.ts';
import type { RequestCounts, RequestMetrics } from '../observe/request-metrics.ts';
import type { Traffic, TrafficTally } from '../observe/traffic-tally.ts';
import type { NearCacheState } from '../session/near-cache.ts';
import type { SessionStore } from '../session/store.ts';
import type { Snapshot } from '../snapshot.ts';
import type { Keypair, RateFigures } from '../tenant.ts';

/** What a worker knows of a keypair. */
export interface KeypairNews {
  readonly tenant: string;
  readonly accessKey: string;
  /** Only if it is another than at the last report. */
  readonly quota: RateFigures | undefined;
  readonly refusal: KeypairRefusal | undefined;
}

/** What a worker tells the primary several times a second: counts since the last report, and how things stand. */
export interface WorkerReport {
  readonly traffic: Traffic;
  readonly requests: RequestCounts;
  readonly endpoints: readonly EndpointState[];
  readonly keypairs: readonly KeypairNews[];
  readonly sessions: { readonly created: number; readonly ended: number };
  readonly streams: number;
  readonly bodies: { readonly memory: BudgetFigures; readonly disk: BudgetFigures };
  readonly storeReady: boolean;
  readonly nearCache: NearCacheState | undefined;
  readonly load: Load;
}

export interface Reported {
  readonly traffic: TrafficTally;
  readonly requests: RequestMetrics;
  readonly load: ProcessLoad;
  readonly snapshot: () => Snapshot;
  readonly store: Pick<SessionStore, 'ready' | 'nearCache'>;
  readonly insides: Gateway['insides'];
}

/** Composes the reports of one worker. */
export class Reporter {
  readonly #reported: Reported;
  readonly #quotas = new WeakMap<Keypair, RateFigures>();

  constructor(reported: Reported) {
    this.#reported = reported;
  }

  /** The next report: what it counts is counted once. */
  take(): WorkerReport {
    const { traffic, requests, load, snapshot, store, insides } = this.#reported;
    const { tenants } = snapshot();
    const now = Date.now();
    const origins = new Set(tenants.flatMap(({ upstream }) => upstream.endpoints));
    return {
      traffic: traffic.take(),
      requests: requests.take(),
      endpoints: [...origins].map((origin) => insides.endpoints.describe(origin, now)),
      keypairs: tenants.flatMap(({ name, keypairs }) =>
        [...keypairs.values()].flatMap(({ members }) => members.map(({ keypair }) => this.#newsOf(name, keypair))),
      ),
      sessions: insides.sessions.totals,
      streams: insides.streams.count,
      bodies: { memory: figuresOf(insides.bodies.memory), disk: figuresOf(insides.bodies.disk) },
      storeReady: store.ready,
      nearCache: plain(store.nearCache),
      load: load.read(),
    };
  }

  #newsOf(tenant: string, keypair: Keypair): KeypairNews {
    const { accessKey, quota, refusal } = keypair;
    const isNew = quota !== undefined && this.#quotas.get(keypair) !== quota;
    if (isNew) this.#quotas.set(keypair, quota);
    return { tenant, accessKey, quota: isNew ? quota : undefined, refusal };
  }
}

function plain(cache: NearCacheState | undefined): NearCacheState | undefined {
  return cache && { up: cache.up, entries: cache.entries, hits: cache.hits, misses: cache.misses };
}

function figuresOf({ used, capacity }: BudgetFigures): BudgetFigures {
  return { used, capacity };
}

import type { BudgetFigures } from '../forward/bodies/budget.ts';
import type { EndpointState } from '../forward/endpoint.ts';
import { RequestMetrics } from '../observe/request-metrics.ts';
import { Statistics } from '../observe/statistics.ts';
import type { NearCacheState } from '../session/near-cache.ts';
import type { Snapshot } from '../snapshot.ts';
import type { Keypair } from '../tenant.ts';
import type { WorkerReport } from './report.ts';

/** A worker as the figures tell it from others; a replacement is another one. */
export interface ReportingWorker {
  readonly id: number;
  readonly pid: number;
}

/** What is counted of an endpoint. */
interface EndpointCounts extends Pick<EndpointState, 'attempts' | 'retries'> {
  readonly entered: EndpointState['breaker']['entered'];
}

const NO_COUNTS: EndpointCounts = {
  attempts: { answered: 0, unreachable: 0, failed: 0, abandoned: 0 },
  retries: { sent: 0, denied: 0 },
  entered: { closed: 0, 'half-open': 0, open: 0 },
};
/** Best first. */
const BREAKERS = ['closed', 'half-open', 'open'] as const;
const CLOCKS = ['ok', 'off', 'alarm'] as const;

/** What all workers together have done and know. Counts of workers that have ended stay in. */
export class Figures {
  readonly statistics = new Statistics();
  readonly requests = new RequestMetrics();
  readonly #snapshot: () => Snapshot;
  readonly #latest = new Map<ReportingWorker, WorkerReport>();
  readonly #formerCounts = new Map<string, EndpointCounts>();
  #formerSessions = { created: 0, ended: 0 };
  #formerReads = { hits: 0, misses: 0 };

  constructor(snapshot: () => Snapshot) {
    this.#snapshot = snapshot;
  }

  absorb(worker: ReportingWorker, report: WorkerReport): void {
    this.statistics.absorb(report.traffic);
    this.requests.absorb(report.requests);
    this.#latest.set(worker, report);
    const quotas = new Map(report.keypairs.map(({ tenant, accessKey, quota }) => [`${tenant}\n${accessKey}`, quota]));
    this.#eachKeypair((keypair, id) => {
      keypair.quota = quotas.get(id) ?? keypair.quota;
    });
    this.#showRefusals();
  }

  /** The worker has ended. */
  forget(worker: ReportingWorker): void {
    const last = this.#latest.get(worker);
    if (last === undefined) return;
    this.#latest.delete(worker);
    this.#formerSessions = addSessions(this.#formerSessions, last.sessions);
    this.#formerReads = addReads(this.#formerReads, last.nearCache);
    for (const state of last.endpoints) {
      const { origin } = state;
      this.#formerCounts.set(origin, addCounts(this.#formerCounts.get(origin) ?? NO_COUNTS, state));
    }
    this.#showRefusals();
  }

  /** Every worker that has reported and not ended, by number. */
  get workers(): { readonly id: number; readonly pid: number; readonly load: WorkerReport['load'] }[] {
    return [...this.#latest]
      .map(([{ id, pid }, { load }]) => ({ id, pid, load }))
      .toSorted((a, b) => a.id - b.id || a.pid - b.pid);
  }

  /** Sessions opened and ended by the workers. */
  get sessions(): { readonly created: number; readonly ended: number } {
    return this.#reports().reduce((sum, { sessions }) => addSessions(sum, sessions), this.#formerSessions);
  }

  get streams(): number {
    return this.#reports().reduce((sum, { streams }) => sum + streams, 0);
  }

  /** Whether the session store answers to every worker. */
  get storeReady(): boolean {
    return this.#reports().every(({ storeReady }) => storeReady);
  }

  /** What the request bodies of all workers take up together. */
  get bodies(): WorkerReport['bodies'] {
    const bodies = this.#reports().map((report) => report.bodies);
    return { memory: addUp(bodies.map(({ memory }) => memory)), disk: addUp(bodies.map(({ disk }) => disk)) };
  }

  /** The near caches of all workers; up when every one is. */
  get nearCache(): NearCacheState {
    const caches = this.#reports().flatMap(({ nearCache }) => nearCache ?? []);
    return {
      ...caches.reduce(addReads, this.#formerReads),
      up: caches.length > 0 && caches.every(({ up }) => up),
      entries: caches.reduce((sum, { entries }) => sum + entries, 0),
    };
  }

  /**
   * What the workers together know of an endpoint: the newest of what happened, the narrowest estimate of its clock, and of
   * breakers and alarms the worst.
   */
  describeEndpoint(origin: string): EndpointState {
    const states = this.#reports().flatMap(({ endpoints }) => endpoints.filter((state) => state.origin === origin));
    const skews = states.flatMap(({ skew }) => skew ?? []);
    const { attempts, retries, entered } = states.reduce(addCounts, this.#formerCounts.get(origin) ?? NO_COUNTS);
    const [worst] = states
      .map(({ breaker }) => breaker)
      .toSorted((a, b) => BREAKERS.indexOf(b.state) - BREAKERS.indexOf(a.state));
    const [furthest] = states
      .map(({ clock }) => clock)
      .toSorted((a, b) => CLOCKS.indexOf(b.state) - CLOCKS.indexOf(a.state));
    return {
      origin,
      pending: states.reduce((sum, { pending }) => sum + pending, 0),
      cooling: states.some(({ cooling }) => cooling),
      attempts,
      retries,
      breaker: { state: worst?.state ?? 'closed', since: worst?.since, entered },
      clock: furthest ?? { state: 'ok', offset: 0 },
      answeredAt: newest(states.map(({ answeredAt }) => answeredAt)),
      failure: states.flatMap(({ failure }) => failure ?? []).toSorted((a, b) => b.at - a.at)[0],
      skew: skews.toSorted((a, b) => a.uncertainty - b.uncertainty)[0],
    };
  }

  #reports(): WorkerReport[] {
    return [...this.#latest.values()];
  }

  /** To operators a keypair is set aside as long as any worker has set it aside. */
  #showRefusals(): void {
    const refusals = new Map<string, Keypair['refusal']>();
    for (const { tenant, accessKey, refusal } of this.#reports().flatMap(({ keypairs }) => keypairs)) {
      const id = `${tenant}\n${accessKey}`;
      if (refusal !== undefined && refusal.until > (refusals.get(id)?.until ?? 0)) refusals.set(id, refusal);
    }
    this.#eachKeypair((keypair, id) => {
      keypair.refusal = refusals.get(id);
    });
  }

  #eachKeypair(visit: (keypair: Keypair, id: string) => void): void {
    for (const { name, keypairs } of this.#snapshot().tenants) {
      for (const { members } of keypairs.values()) {
        for (const { keypair } of members) visit(keypair, `${name}\n${keypair.accessKey}`);
      }
    }
  }
}

function addCounts(a: EndpointCounts, b: EndpointCounts | EndpointState): EndpointCounts {
  return {
    attempts: sumOf(a.attempts, b.attempts),
    retries: sumOf(a.retries, b.retries),
    entered: sumOf(a.entered, 'entered' in b ? b.entered : b.breaker.entered),
  };
}

function sumOf<Name extends string>(a: Readonly<Record<Name, number>>, b: Readonly<Record<Name, number>>) {
  const names = Object.keys(a) as Name[];
  return Object.fromEntries(names.map((name) => [name, a[name] + b[name]])) as Record<Name, number>;
}

function addSessions(a: WorkerReport['sessions'], b: WorkerReport['sessions']): WorkerReport['sessions'] {
  return { created: a.created + b.created, ended: a.ended + b.ended };
}

function addUp(budgets: readonly BudgetFigures[]): BudgetFigures {
  return budgets.reduce((a, b) => ({ used: a.used + b.used, capacity: a.capacity + b.capacity }), {
    used: 0,
    capacity: 0,
  });
}

type Reads = Pick<NearCacheState, 'hits' | 'misses'>;

function addReads(a: Reads, b: Reads | undefined): Reads {
  return { hits: a.hits + (b?.hits ?? 0), misses: a.misses + (b?.misses ?? 0) };
}

function newest(instants: readonly (number | undefined)[]): number | undefined {
  const known = instants.filter((instant) => instant !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

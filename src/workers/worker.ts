import { Keypairs } from '../config/keypairs.ts';
import { createEdgeServer, type EdgeServer } from '../edge/server.ts';
import { createGateway } from '../gateway.ts';
import type { Gateway } from '../gateway-contract.ts';
import { openAttempts } from '../login/open-attempts.ts';
import { keypairTrail } from '../observe/keypair-event.ts';
import { createLog, type Log } from '../observe/log.ts';
import { withObservers } from '../observe/observers.ts';
import { ProcessLoad } from '../observe/process-load.ts';
import { RequestMetrics } from '../observe/request-metrics.ts';
import { TrafficTally } from '../observe/traffic-tally.ts';
import { drain, retire, STORE_PATIENCE, untilReady } from '../process/lifecycle.ts';
import { createMemoryStore, type MemoryStore } from '../session/memory-store.ts';
import { openStore } from '../session/open-store.ts';
import { RemovedTenants } from '../session/removed-tenants.ts';
import type { SessionStore } from '../session/store.ts';
import type { Snapshot } from '../snapshot.ts';
import type { Channel } from './channel.ts';
import { RemoteLimits } from './limit-news.ts';
import { type Change, LISTENING_DESCRIPTOR, type PrimaryCalls, type Setup, type WorkerCalls } from './messages.ts';
import { remoteAudit } from './remote-audit.ts';
import { Reporter } from './report.ts';
import { followAttempts } from './shared-attempts.ts';
import { followSessions } from './shared-sessions.ts';
import { unpackSnapshot } from './snapshot-message.ts';

type Primary = Channel<PrimaryCalls, WorkerCalls>;

/** Milliseconds between two reports. */
const REPORT_EVERY = 250;

/** A gateway whose configuration, memory sessions and counts of failures are kept by the primary. */
export class Worker {
  readonly log: Log;
  readonly #store: SessionStore;
  /** The copy of the sessions, where they are kept in memory. */
  readonly #copy: MemoryStore | undefined;
  readonly #limits: RemoteLimits;
  readonly #gateway: Gateway;
  readonly #server: EdgeServer;
  readonly #removedTenants: RemovedTenants;
  readonly #close: () => Promise<void>;
  #keypairs = new Keypairs();
  #snapshot: Snapshot;
  #reporting: NodeJS.Timeout | undefined;
  #over: Promise<void> | undefined;

  constructor(setup: Setup, primary: Primary) {
    this.#snapshot = unpackSnapshot(setup.snapshot, this.#keypairs);
    const { sessions, limits, listen, workers } = this.#snapshot;
    const storeUrl = sessions.store.reveal();
    const observers = { traffic: new TrafficTally(), requests: new RequestMetrics() };
    const plainLog = createLog(setup.logLevel, undefined, setup.id);
    this.log = setup.reports ? withObservers(plainLog, Object.values(observers)) : plainLog;
    const onError = (error: Error) => this.log.error({ err: error }, 'the session store is out of reach');
    const onBypass = (error: Error) => this.log.warn({ err: error }, 'the near cache is bypassed');

    const { sealKeys, nearCache } = sessions;
    const isMemory = storeUrl === 'memory';
    // The primary keeps their number within bounds.
    this.#copy = isMemory ? createMemoryStore({ clock: Date.now, capacity: Number.POSITIVE_INFINITY }) : undefined;
    for (const session of setup.sessions) void this.#copy?.create(session);
    this.#store =
      this.#copy === undefined
        ? openStore(storeUrl, { clock: Date.now, sealKeys, onError, nearCache, onBypass })
        : followSessions(this.#copy, primary);
    const attempts = isMemory
      ? followAttempts(primary)
      : openAttempts(storeUrl, { limits: limits.failedLogins, onError });
    const audit = remoteAudit((events) => primary.tell('audit', events));
    this.#limits = new RemoteLimits(workers, (news) => primary.tell('tellLimits', news));
    this.#gateway = createGateway({
      snapshot: () => this.#snapshot,
      store: this.#store,
      attempts,
      log: this.log,
      audit,
      onKeypair: keypairTrail(audit),
      exchange: this.#limits,
    });
    this.#limits.hear(setup.limits);
    this.#server = createEdgeServer(listen, this.#gateway);
    this.#removedTenants = new RemovedTenants(this.#gateway.insides.streams);

    const { insides } = this.#gateway;
    const load = new ProcessLoad();
    const snapshot = () => this.#snapshot;
    const reporter = new Reporter({ ...observers, load, snapshot, store: this.#store, insides });
    if (setup.reports) {
      this.#reporting = setInterval(() => primary.tell('report', reporter.take()), REPORT_EVERY);
    }
    this.#close = async () => {
      clearInterval(this.#reporting);
      await this.#gateway.close();
      load.close();
      await audit.close();
      // The last message, answered: whatever was sent before has arrived.
      if (setup.reports) await primary.call('report', reporter.take()).catch(() => undefined);
      await Promise.all([this.#store.close(), attempts.close()]);
      this.log.flush();
    };
  }

  /** Resolves when everything is there that requests need, or has been waited for long enough. */
  async prepare(): Promise<void> {
    await untilReady(() => this.#store.ready, STORE_PATIENCE);
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ fd: LISTENING_DESCRIPTOR }, () => resolve());
    });
  }

  reload({ snapshot, added, removed }: Change): void {
    this.#keypairs = new Keypairs(this.#keypairs);
    this.#snapshot = unpackSnapshot(snapshot, this.#keypairs);
    this.#removedTenants.add(added);
    this.#removedTenants.remove(removed, this.#snapshot.drain);
    const { tls } = this.#snapshot.listen;
    if (tls !== undefined) this.#server.setCertificates?.(tls);
  }

  readonly calls: Omit<WorkerCalls, 'start' | 'listen' | 'stop'> = {
    reload: (change) => this.reload(change),
    setLogLevel: (level) => this.log.setLevel(level),
    putSession: (session) => void this.#copy?.create(session),
    touchSession: ({ key, seenAt }) => {
      const session = this.#copy?.get(key);
      if (session !== undefined) void this.#copy?.touch(session, seenAt);
    },
    dropSessions: (keys) => {
      for (const key of keys) void this.#copy?.end(key);
    },
    hearLimits: (news) => this.#limits.hear(news),
  };

  /**
   * Finishes what is in flight within `deadline` milliseconds and closes everything; called again it gives the same.
   * `isRetired`: another worker listens on the same socket, so idle connections are closed only at their next answer.
   */
  stop(deadline: number, isRetired: boolean): Promise<void> {
    this.#over ??= this.#stop(deadline, isRetired);
    return this.#over;
  }

  /** For a worker whose primary is gone, by the configuration in force. */
  get drain(): number {
    return this.#snapshot.drain;
  }

  async #stop(deadline: number, isRetired: boolean): Promise<void> {
    this.#gateway.drain();
    const finish = isRetired ? retire : drain;
    const finished = await finish(this.#server, deadline, () => void this.#gateway.close());
    if (!finished) this.log.warn({ deadline }, 'requests still in flight at the deadline were cut off');
    await this.#close();
  }
}

import { fileURLToPath } from 'node:url';
import type { LimitNews } from '../edge/limits.ts';
import type { FailedAttempts } from '../login/attempts.ts';
import { openAttempts } from '../login/open-attempts.ts';
import type { Audit } from '../observe/audit.ts';
import type { Log, LogLevel } from '../observe/log.ts';
import { createMemoryStore } from '../session/memory-store.ts';
import { MEMORY_CAPACITY, openStore } from '../session/open-store.ts';
import { Sessions } from '../session/sessions.ts';
import type { SessionStore } from '../session/store.ts';
import type { Snapshot } from '../snapshot.ts';
import { Figures } from './figures.ts';
import { LimitLedger } from './limit-ledger.ts';
import { bindShared, type SharedAddress } from './listening-socket.ts';
import type { PrimaryCalls, Setup, WorkerCalls } from './messages.ts';
import { WorkerPool } from './pool.ts';
import { serveAttempts } from './shared-attempts.ts';
import { type SharedSessions, shareSessions } from './shared-sessions.ts';
import { packSnapshot } from './snapshot-message.ts';
import type { WorkerProcess } from './worker-process.ts';

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url));

export interface PrimaryOptions {
  /** The configuration in force. */
  readonly snapshot: () => Snapshot;
  readonly address: SharedAddress;
  readonly log: Log;
  readonly audit: Audit;
  /** Takes log lines of the workers as they are. */
  readonly onLines: (lines: string) => void;
  /** Whether operators look at figures. */
  readonly reports: boolean;
  readonly onHopeless: (error: Error) => void;
}

/** What the workers have in common, kept in one place: sessions in memory, counts, figures, and the workers themselves. */
export class Primary {
  readonly pool: WorkerPool;
  readonly figures: Figures;
  readonly store: SessionStore;
  readonly sessions: Sessions;
  readonly #options: PrimaryOptions;
  readonly #shared: SharedSessions | undefined;
  readonly #attempts: FailedAttempts | undefined;
  readonly #ledger = new LimitLedger(Date.now);
  readonly #allSessions: () => Setup['sessions'];

  constructor(options: PrimaryOptions) {
    this.#options = options;
    const { snapshot, log, address, onHopeless } = options;
    const { sessions, limits, workers } = snapshot();
    const storeUrl = sessions.store.reveal();
    if (storeUrl === 'memory') {
      const memory = createMemoryStore({ clock: Date.now, capacity: MEMORY_CAPACITY });
      this.#shared = shareSessions(memory, {
        put: (session) => this.#informAll('putSession', session),
        drop: (keys) => this.#informAll('dropSessions', keys),
        touch: (touch) => this.#tellAll('touchSession', touch),
      });
      this.#attempts = openAttempts(storeUrl, { limits: limits.failedLogins });
      this.#allSessions = () => memory.all();
      this.store = this.#shared.store;
    } else {
      const onError = (error: Error) => log.error({ err: error }, 'the session store is out of reach');
      this.#allSessions = () => [];
      this.store = openStore(storeUrl, { clock: Date.now, sealKeys: sessions.sealKeys, onError });
    }
    this.sessions = new Sessions({ store: this.store, clock: Date.now });
    this.figures = new Figures(snapshot);
    this.pool = new WorkerPool({
      size: workers,
      bind: () => bindShared(address),
      prepare: (id) => ({ script: MAIN, args: ['worker'], setup: this.#setup(id), onLines: options.onLines }),
      calls: (worker) => this.#callsOf(worker),
      onEnded: (worker) => this.figures.forget(worker),
      onHopeless,
      log,
    });
  }

  /** Gives the workers the configuration in force; resolves when all go by it. */
  async reload(added: readonly string[], removed: readonly string[]): Promise<void> {
    await this.#informAll('reload', { snapshot: packSnapshot(this.#options.snapshot()), added, removed });
  }

  setLogLevel(level: LogLevel): void {
    this.#tellAll('setLogLevel', level);
  }

  async close(): Promise<void> {
    await Promise.all([this.store.close(), this.#attempts?.close()]);
  }

  #setup(id: number): Setup {
    const { snapshot, log, reports } = this.#options;
    return {
      id,
      snapshot: packSnapshot(snapshot()),
      logLevel: log.level(),
      reports,
      sessions: this.#allSessions(),
      limits: this.#ledger.read(),
    };
  }

  #callsOf(worker: () => WorkerProcess): PrimaryCalls {
    const { audit } = this.#options;
    const nothingShared = () => {
      throw new Error('sessions and attempts are kept outside');
    };
    const attempts = this.#attempts && serveAttempts(this.#attempts);
    return {
      createSession: this.#shared?.calls.createSession ?? nothingShared,
      touchSession: this.#shared?.calls.touchSession ?? nothingShared,
      endSession: this.#shared?.calls.endSession ?? nothingShared,
      endSessions: this.#shared?.calls.endSessions ?? nothingShared,
      reserveAttempt: attempts?.reserveAttempt ?? nothingShared,
      settleAttempt: attempts?.settleAttempt ?? nothingShared,
      tellLimits: (news) => this.#spread(news, worker()),
      audit: (events) => {
        for (const event of events) audit.record(event);
      },
      report: (report) => this.figures.absorb(worker(), report),
    };
  }

  #spread(news: readonly LimitNews[], from: WorkerProcess): void {
    this.#ledger.add(news);
    for (const worker of this.pool.processes) if (worker !== from) worker.tell('hearLimits', news);
  }

  #tellAll<N extends keyof WorkerCalls>(name: N, argument: Parameters<WorkerCalls[N]>[0]): void {
    for (const worker of this.pool.processes) worker.tell(name, argument);
  }

  async #informAll<N extends keyof WorkerCalls>(name: N, argument: Parameters<WorkerCalls[N]>[0]): Promise<void> {
    await Promise.all([...this.pool.processes].map((worker) => worker.inform(name, argument)));
  }
}

import type { BudgetFigures } from '../forward/bodies/budget.ts';
import type { Endpoints } from '../forward/endpoints.ts';
import type { Log } from '../observe/log.ts';
import type { Load } from '../observe/process-load.ts';
import type { RequestMetrics } from '../observe/request-metrics.ts';
import type { Statistics } from '../observe/statistics.ts';
import type { Phase } from '../process/lifecycle.ts';
import type { Sessions } from '../session/sessions.ts';
import type { SessionStore } from '../session/store.ts';
import type { LiveStreams } from '../session/streams.ts';
import type { OperatorSettings, Snapshot } from '../snapshot.ts';

/** A fault of a configuration file, as an operator is told of it. */
export interface ConfigFault {
  readonly file: string;
  readonly line: number;
  readonly path: string;
  readonly message: string;
}

/** What became of one attempt to load the configuration anew. */
export interface ReloadRecord {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly ok: boolean;
  /** What set it off: `SIGHUP`, `file`, `operator`. */
  readonly reason: string;
  readonly faults: readonly ConfigFault[];
}

/** Loading the configuration anew, for whoever keeps the snapshot. */
export interface Reloads {
  /** Never rejects: a file with faults leaves the old configuration in force. */
  reload(reason: string): Promise<ReloadRecord>;
  /** Undefined before the first. */
  readonly last: ReloadRecord | undefined;
  readonly counts: { readonly ok: number; readonly failed: number };
}

/** What an operator did over the API; for the log and the audit trail. */
export interface OperatorAction {
  readonly action: 'end-session' | 'end-sessions' | 'reload' | 'log-level';
  readonly outcome: 'done' | 'failed';
  readonly tenant?: string;
  readonly subject?: string;
  /** Store key of the one session it was about. */
  readonly session?: string;
  /** Sessions ended. */
  readonly count?: number;
  /** What it was about besides, e.g. the new log level. */
  readonly target?: string;
  /** Address of the client. */
  readonly client: string;
  readonly requestId: string;
}

/** A process that serves requests. */
export interface WorkerState {
  /** Its number among the workers, from 1; the one that takes its place has the same. */
  readonly id: number;
  readonly pid: number;
  readonly load: Load;
}

/** What the operators' listener looks into and may change. */
export interface OperatorParts {
  readonly settings: OperatorSettings;
  readonly snapshot: () => Snapshot;
  readonly phase: () => Phase;
  readonly store: Pick<SessionStore, 'get' | 'ready' | 'nearCache'>;
  /** What request bodies take up. */
  readonly bodies: { readonly memory: BudgetFigures; readonly disk: BudgetFigures };
  readonly sessions: Pick<Sessions, 'list' | 'count' | 'end' | 'endAll' | 'totals'>;
  readonly streams: Pick<LiveStreams, 'count'>;
  readonly endpoints: Pick<Endpoints, 'describe'>;
  readonly statistics: Statistics;
  readonly requests: RequestMetrics;
  readonly log: Log;
  /** The processes that serve requests, where this is none of them. */
  readonly workers?: () => readonly WorkerState[];
  readonly version: string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Absent where the configuration cannot be loaded anew; then there is no `POST /api/reload`. */
  readonly reloads?: Reloads;
  readonly onAction?: (action: OperatorAction) => void;
}

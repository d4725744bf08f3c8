import type { LimitNews } from '../edge/limits.ts';
import type { AttemptedLogin } from '../login/attempts.ts';
import type { AuditEvent } from '../observe/audit-event.ts';
import type { LogLevel } from '../observe/log.ts';
import type { Session } from '../session/session.ts';
import type { SessionOwner } from '../session/store.ts';
import type { WorkerReport } from './report.ts';
import type { PackedSnapshot } from './snapshot-message.ts';

/** The descriptor under which a worker finds its listening socket, behind the standard three and the channel. */
export const LISTENING_DESCRIPTOR = 4;

/** What a worker starts with. */
export interface Setup {
  /** Its number among the workers, from 1. */
  readonly id: number;
  readonly snapshot: PackedSnapshot;
  readonly logLevel: LogLevel;
  /** Whether reports are wanted: there is an operators' listener. */
  readonly reports: boolean;
  /** All sessions, where they are kept in memory. */
  readonly sessions: readonly Session[];
  /** What has been counted of the edge's limits by all workers. */
  readonly limits: readonly LimitNews[];
}

/** A configuration that takes the place of the one before. */
export interface Change {
  readonly snapshot: PackedSnapshot;
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** What the primary asks of a worker. */
export type WorkerCalls = {
  /** Answered once the worker is ready to listen. */
  readonly start: (setup: Setup) => Promise<void>;
  /** Answered once it accepts connections. Whatever was sent before has taken effect by then. */
  readonly listen: (nothing: undefined) => Promise<void>;
  readonly reload: (change: Change) => void;
  readonly setLogLevel: (level: LogLevel) => void;
  readonly putSession: (session: Session) => void;
  readonly touchSession: (touch: { readonly key: string; readonly seenAt: number }) => void;
  readonly dropSessions: (keys: readonly string[]) => void;
  readonly hearLimits: (news: readonly LimitNews[]) => void;
  /** Finish what is in flight within `deadline` milliseconds, then end. `retire`: another worker has taken over. */
  readonly stop: (how: { readonly deadline: number; readonly retire: boolean }) => void;
};

/** What a worker asks of the primary. */
export type PrimaryCalls = {
  /** Answered once every worker knows the session. */
  readonly createSession: (session: Session) => Promise<void>;
  readonly touchSession: (touch: { readonly key: string; readonly seenAt: number }) => void;
  /** Both answered once every worker has dropped the sessions and closed their streams. */
  readonly endSession: (key: string) => Promise<boolean>;
  readonly endSessions: (whose: {
    readonly owner: SessionOwner;
    readonly except?: string | undefined;
  }) => Promise<number>;
  /** Gives a number by which `settleAttempt` knows the attempt again. */
  readonly reserveAttempt: (login: AttemptedLogin) => Promise<number>;
  readonly settleAttempt: (attempt: { readonly id: number; readonly outcome: 'succeeded' | 'cancel' }) => Promise<void>;
  readonly tellLimits: (news: readonly LimitNews[]) => void;
  readonly audit: (events: readonly AuditEvent[]) => void;
  readonly report: (report: WorkerReport) => void;
};

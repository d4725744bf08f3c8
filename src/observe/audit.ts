import { hash } from 'node:crypto';
import type { RateLimit } from '../snapshot.ts';
import type { AuditEvent, AuditLine } from './audit-event.ts';
import { AuditLimit, type Suppressed } from './audit-limit.ts';

/** The audit log: who signed in, who was refused, what operators did. One JSON line per event, a stream of its own. */
export interface Audit {
  /** Never throws and never waits. */
  record(event: AuditEvent): void;
  /** Opens the file afresh under its name, after a log rotation has moved it away. */
  reopen(): void;
  /** Resolves once all that has been recorded is written, or has failed to be. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** Where audit lines go. */
export interface AuditSink {
  /** Takes one line without its newline. */
  write(line: string): void;
  reopen(): void;
  flush(): Promise<void>;
  close(): Promise<void>;
}

export const NO_AUDIT: Audit = {
  record: () => undefined,
  reopen: () => undefined,
  flush: async () => undefined,
  close: async () => undefined,
};

export interface AuditOptions {
  /** Lines per event, code and tenant that attackers can provoke; what exceeds it is counted in one line. */
  readonly refusals: RateLimit;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

export function createAudit(sink: AuditSink, { refusals, clock }: AuditOptions): Audit {
  const write = (line: Omit<AuditLine, 'time'>) =>
    sink.write(JSON.stringify({ time: new Date(clock()).toISOString(), ...line }));
  const limit = new AuditLimit(refusals, clock, (suppressed) => write(lineOf(suppressed)));
  return {
    record(recorded) {
      const { event } = recorded;
      if ((event === 'refusal' || event === 'login-failed') && !limit.admits(event, recorded.code, recorded.tenant)) {
        return;
      }
      if (!('session' in recorded)) return write(recorded);
      const { session, ...line } = recorded;
      write({ ...line, ...(session !== undefined && { sessionHash: sessionHash(session) }) } as AuditLine);
    },
    reopen: () => sink.reopen(),
    flush() {
      limit.report();
      return sink.flush();
    },
    close() {
      limit.report();
      return sink.close();
    },
  };
}

function lineOf({ event, code, tenant, count, seconds }: Suppressed): Omit<AuditLine, 'time'> {
  return { event: 'suppressed', tenant, code, detail: { event, count, seconds } } as Omit<AuditLine, 'time'>;
}

/** The store key ends a session for whoever may call the store; its hash only tells it from others. */
export function sessionHash(key: string): string {
  return hash('sha256', key, 'base64url').slice(0, 16);
}

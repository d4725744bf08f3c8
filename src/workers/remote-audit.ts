import type { Audit } from '../observe/audit.ts';
import type { AuditEvent } from '../observe/audit-event.ts';

/** An audit log that another process writes: events of one turn of the event loop are sent together. */
export function remoteAudit(send: (events: readonly AuditEvent[]) => void): Audit {
  let events: AuditEvent[] = [];
  const flush = () => {
    if (events.length === 0) return;
    send(events);
    events = [];
  };
  return {
    record(event) {
      if (events.push(event) === 1) setImmediate(flush);
    },
    reopen: () => undefined,
    async flush() {
      flush();
    },
    async close() {
      flush();
    },
  };
}

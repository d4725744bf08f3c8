import { formatFault } from '../config/fault.ts';
import type { ReloadResult } from '../config/watch.ts';
import type { Audit } from '../observe/audit.ts';
import type { Log } from '../observe/log.ts';

/** Records what came of a reload: in the log each fault and each warning on a line of its own, and the outcome in both. */
export function recordReload(log: Log, audit: Audit, result: ReloadResult): void {
  const { ok, reason, faults, warnings, added, removed } = result;
  audit.record({
    event: 'reload',
    detail: { ok, reason, faults: faults.length, added: [...added], removed: [...removed] },
  });
  for (const fault of faults) log.error({ path: fault.path, line: fault.line }, formatFault(fault));
  for (const warning of warnings) log.warn({ path: warning.path, line: warning.line }, formatFault(warning));
  if (ok) log.info({ reason, added, removed }, 'configuration reloaded');
  else log.error({ reason, faults: faults.length }, 'configuration not reloaded: the one before stays in force');
}

import type { AuditSettings } from '../snapshot.ts';
import { AppendFile } from './append-file.ts';
import { type Audit, createAudit, NO_AUDIT } from './audit.ts';
import type { Log } from './log.ts';

/**
 * Opens the audit log that the configuration asks for; without settings it is off. Throws what opening the file throws.
 * Writes that fail later are told to the log, once for each outage.
 */
export function openAudit(
  settings: AuditSettings | undefined,
  { log, clock }: { readonly log: Pick<Log, 'error' | 'warn'>; readonly clock: () => number },
): Audit {
  if (settings === undefined) return NO_AUDIT;
  const { file } = settings;
  const sink = new AppendFile({
    file: file === 'stdout' ? 1 : file === 'stderr' ? 2 : file,
    onFailure: (err) => log.error({ err, file }, 'the audit log cannot be written; its lines are held and tried again'),
    onRecovery(lost) {
      log.warn({ file, lost }, 'the audit log is written again');
      if (lost === 0) return undefined;
      return JSON.stringify({ time: new Date(clock()).toISOString(), event: 'lost', detail: { count: lost } });
    },
  });
  return createAudit(sink, { refusals: settings.refusals, clock });
}

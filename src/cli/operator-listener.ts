import type { ConfigWatch, ReloadResult } from '../config/watch.ts';
import type { Audit } from '../observe/audit.ts';
import type { OperatorAction, OperatorParts, ReloadRecord, Reloads } from '../operator/parts.ts';
import { createOperatorServer, type OperatorServer } from '../operator/server.ts';
import type { OperatorSettings } from '../snapshot.ts';
import { version } from './version.ts';

export interface OperatorListener extends OperatorServer {
  readonly settings: OperatorSettings;
}

/** What the listener is built on besides the configuration. */
export interface OperatorContext extends Omit<OperatorParts, Given> {
  readonly audit: Audit;
  /** Resolves when what was reloaded is in force everywhere; at once when left out. */
  readonly reloaded?: () => Promise<void>;
}

type Given = 'settings' | 'snapshot' | 'version' | 'clock' | 'reloads' | 'onAction';

/** The operators' listener of a configuration that has one: what operators see is the gateway, what they do is audited. */
export function createOperatorListener(
  config: ConfigWatch,
  { audit, reloaded, ...parts }: OperatorContext,
): OperatorListener | undefined {
  const settings = config.operator;
  if (settings === undefined) return undefined;
  const server = createOperatorServer({
    ...parts,
    settings,
    snapshot: () => config.current,
    version: version(),
    clock: Date.now,
    reloads: reloadsOf(config, reloaded),
    onAction: (action) => record(audit, action),
  });
  return { ...server, settings };
}

function reloadsOf(config: ConfigWatch, reloaded: OperatorContext['reloaded']): Reloads {
  let ok = 0;
  config.onReload((result) => {
    if (result.ok) ok++;
  });
  return {
    async reload(reason) {
      const result = await config.reload(reason);
      await reloaded?.();
      return recordOf(result);
    },
    get last() {
      return recordOf(config.lastReload);
    },
    get counts() {
      return { ok, failed: config.failures };
    },
  };
}

function recordOf({ at, ok, reason, faults }: ReloadResult): ReloadRecord {
  return { at, ok, reason, faults };
}

function record(
  audit: Audit,
  { action, outcome, tenant, subject, session, count, target, client, requestId }: OperatorAction,
) {
  const about = {
    ...(tenant !== undefined && { tenant }),
    ...(subject !== undefined && { subject }),
    client,
    requestId,
  };
  audit.record({
    event: 'operator-action',
    ...about,
    session,
    detail: { action, outcome, ...(target !== undefined && { target }) },
  });
  if (tenant === undefined || count === undefined) return;
  const scope = session !== undefined ? 'one' : subject !== undefined ? 'subject' : 'tenant';
  audit.record({ event: 'revocation', ...about, tenant, session, detail: { by: 'operator', scope, count } });
}

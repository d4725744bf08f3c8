import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../config/load.ts';
import { createEdgeServer } from '../edge/server.ts';
import { createGateway } from '../gateway.ts';
import { openAttempts } from '../login/open-attempts.ts';
import { createLog } from '../observe/log.ts';
import { listen } from '../process/lifecycle.ts';
import { openStore } from '../session/open-store.ts';
import type { Snapshot } from '../snapshot.ts';

export interface LocalGateway {
  readonly port: number;
  close(): Promise<void>;
}

/** Runs the gateway in this process on a free port of 127.0.0.1. `config` is what a configuration file would say. */
export async function startLocalGateway(config: object): Promise<LocalGateway> {
  const snapshot = snapshotOf(config);
  const store = openStore('memory', { clock: Date.now, sealKeys: [] });
  const attempts = openAttempts('memory', { limits: snapshot.limits.failedLogins });
  const log = createLog('silent', { write: () => undefined });
  const gateway = createGateway({ snapshot: () => snapshot, store, attempts, log });
  const server = createEdgeServer(snapshot.listen, gateway);
  const port = await listen(server, 0, '127.0.0.1');
  return {
    port,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      await gateway.close();
      server.closeAllConnections();
      await closed;
      await Promise.all([store.close(), attempts.close()]);
    },
  };
}

/** Through a file like any other configuration, so that what is tested is what an operator's file becomes. */
function snapshotOf(config: object): Snapshot {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-smoke-'));
  try {
    const file = join(folder, 'smoke.yaml');
    writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
    return loadConfig(file, {}).snapshot;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

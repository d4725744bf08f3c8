import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigWatch, type ReloadResult } from '../../src/config/watch.ts';
import { createEdgeServer } from '../../src/edge/server.ts';
import { createGateway } from '../../src/gateway.ts';
import { openAttempts } from '../../src/login/open-attempts.ts';
import { createLog } from '../../src/observe/log.ts';
import { openStore } from '../../src/session/open-store.ts';
import { RemovedTenants } from '../../src/session/removed-tenants.ts';

export interface ReloadingGateway {
  readonly port: number;
  readonly config: ConfigWatch;
  /** Replaces the file in one step; resolves when what is in it has been judged. */
  write(config: object): Promise<ReloadResult>;
  close(): Promise<void>;
}

/** A gateway whose configuration is a file that is watched, wired as `serve` does, in this process. */
export async function startReloadingGateway(config: object): Promise<ReloadingGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-reload-'));
  const file = join(folder, 'countersign.yaml');
  writeFileSync(file, JSON.stringify(config));
  const watch = new ConfigWatch(file, { env: {}, debounce: 10 });
  const store = openStore('memory', { clock: Date.now, sealKeys: [] });
  const attempts = openAttempts('memory');
  const log = createLog('silent', { write: () => undefined });
  const gateway = createGateway({ snapshot: () => watch.current, store, attempts, log });
  const server = createEdgeServer(watch.current.listen, gateway);
  watch.onReload(() => {
    const { tls } = watch.current.listen;
    if (tls !== undefined) server.setCertificates?.(tls);
  });
  const removedTenants = new RemovedTenants(gateway.insides.streams);
  watch.onReload(({ added, removed }) => {
    removedTenants.add(added);
    removedTenants.remove(removed, watch.current.drain);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    config: watch,
    write(next) {
      const reloaded = new Promise<ReloadResult>((resolve) => {
        const stop = watch.onReload((result) => {
          stop();
          resolve(result);
        });
      });
      writeFileSync(`${file}.new`, JSON.stringify(next));
      renameSync(`${file}.new`, file);
      return reloaded;
    },
    async close() {
      watch.close();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await gateway.close();
      await closed;
      await Promise.all([store.close(), attempts.close()]);
      rmSync(folder, { recursive: true });
    },
  };
}

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Gateway } from '../../src/gateway-contract.ts';
import type { Log } from '../../src/observe/log.ts';
import { RequestMetrics } from '../../src/observe/request-metrics.ts';
import { Statistics } from '../../src/observe/statistics.ts';
import type { OperatorAction, OperatorParts, Reloads } from '../../src/operator/parts.ts';
import { createOperatorServer } from '../../src/operator/server.ts';
import type { Phase } from '../../src/process/lifecycle.ts';
import type { SessionStore } from '../../src/session/store.ts';
import type { OperatorSettings, Snapshot } from '../../src/snapshot.ts';

export interface TestOperator {
  readonly origin: string;
  readonly port: number;
  readonly actions: readonly OperatorAction[];
  /** What readiness says of the process; `ready` at first. */
  phase: Phase;
  close(): Promise<void>;
}

export interface OperatorOptions {
  readonly settings?: Partial<OperatorSettings>;
  readonly reloads?: Reloads;
  /** Epoch milliseconds. */
  readonly clock?: () => number;
  /** What readiness asks in place of the gateway's own. */
  readonly store?: SessionStore;
}

/** What a gateway has that its operators' listener is built on. */
export interface Watched {
  readonly gateway: Gateway;
  readonly snapshot: Snapshot;
  readonly store: SessionStore;
  readonly log: Log;
  readonly observers: { readonly statistics: Statistics; readonly requests: RequestMetrics };
}

export function newObservers(): Watched['observers'] {
  return { statistics: new Statistics(), requests: new RequestMetrics() };
}

interface Noted {
  phase: Phase;
  readonly actions: OperatorAction[];
}

export function partsOf(watched: Watched, options: OperatorOptions = {}, noted?: Noted): OperatorParts {
  const { gateway, snapshot, store, log, observers } = watched;
  return {
    ...gateway.insides,
    ...observers,
    settings: { host: '127.0.0.1', port: 0, token: undefined, tls: undefined, ...options.settings },
    snapshot: () => snapshot,
    phase: () => noted?.phase ?? 'ready',
    store: options.store ?? store,
    log,
    version: '0.0.0-test',
    clock: options.clock ?? Date.now,
    onAction: (action) => noted?.actions.push(action),
    ...(options.reloads && { reloads: options.reloads }),
  };
}

/** An operators' listener on a free loopback port, over parts that run in this process. */
export async function startOperator(watched: Watched, options: OperatorOptions = {}): Promise<TestOperator> {
  const noted: Noted = { phase: 'ready', actions: [] };
  const { server, close } = createOperatorServer(partsOf(watched, options, noted));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const scheme = options.settings?.tls ? 'https' : 'http';
  return {
    origin: `${scheme}://127.0.0.1:${port}`,
    port,
    actions: noted.actions,
    get phase() {
      return noted.phase;
    },
    set phase(phase) {
      noted.phase = phase;
    },
    close,
  };
}

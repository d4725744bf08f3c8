import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ask, unexpected } from '../ask.ts';
import { refusesStrangers } from '../checks/strangers.ts';
import type { Peer, RunningPeer, Stage } from '../peer.ts';
import type { Place } from '../pinning.ts';
import { freePort } from '../port.ts';
import { JSON_HEADERS } from '../workload.ts';
import { judgeSignature, KEYPAIR, VERSION } from './signature.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** No run may end in a refusal by the edge's own limits; they are counted all the same. */
const UNREACHED = { requests: 100_000_000, per: '1m' };

export const countersignMemory: Peer = {
  name: 'countersign',
  title: 'Countersign, full job, sessions in memory',
  required: true,
  start: (stage) => startGateway(stage, { sessions: { store: 'memory' } }),
};

/** Both processes of one gateway: they share its sessions and limits. */
export const countersignWorkers: Peer = {
  name: 'countersign-2',
  title: 'Countersign, full job, 2 workers, sessions in memory',
  required: true,
  workloads: ['get-1k', 'latency', 'post-1k'],
  start: (stage) => startGateway(stage, { sessions: { store: 'memory' }, workers: 2, place: 'proxies' }),
};

export interface GatewaySetup {
  /** Keys of its configuration. */
  readonly sessions: object;
  readonly workers?: number;
  readonly place?: Place;
}

/** The gateway's own command, logging at `info`, with one session opened. */
export async function startGateway(
  { children, folder, upstreamPort }: Stage,
  setup: GatewaySetup,
): Promise<RunningPeer> {
  const port = await freePort();
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'countersign.yaml');
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(configuration(port, upstreamPort, setup)));
  const command = [process.execPath, MAIN, 'serve', file];
  const server = await children.serve(port, { place: setup.place ?? 'proxy', command });
  const cookie = await signIn(port);
  return { ...server, cookie, check: () => refusesStrangers(port), judge: judgeSignature };
}

function configuration(port: number, upstreamPort: number, { sessions, workers = 1 }: GatewaySetup): object {
  return {
    listen: { host: '127.0.0.1', port },
    sessions,
    workers,
    limits: { address: UNREACHED, session: UNREACHED, sessionCreation: UNREACHED },
    drain: '1s',
    log: { level: 'info' },
    tenants: {
      bench: {
        origins: [`http://127.0.0.1:${port}`],
        upstream: { endpoints: [`http://127.0.0.1:${upstreamPort}`], version: VERSION },
        keypairs: { visitor: KEYPAIR },
        login: { visitor: { role: 'visitor' } },
        routes: [{ path: '/v2', roles: ['visitor'], maxBody: '128MiB' }],
      },
    },
  };
}

async function signIn(port: number): Promise<string> {
  const body = JSON.stringify({ method: 'visitor' });
  const answer = await ask(port, { method: 'POST', path: '/-/session', headers: JSON_HEADERS, body });
  const [cookie] = answer.headers['set-cookie'] ?? [];
  if (answer.status !== 201 || cookie === undefined) throw unexpected('the login', answer);
  return cookie.slice(0, cookie.indexOf(';'));
}

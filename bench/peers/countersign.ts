import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Answer, ask } from '../ask.ts';
import type { Peer, RunningPeer, Stage } from '../peer.ts';
import { freePort } from '../port.ts';
import { SEEN_PATH } from '../upstream-reply.ts';
import { PAGE_HEADERS } from '../workload.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const KEYPAIR = { accessKey: 'AKIABENCHVISITOR0001', secretKey: 'bench-secret-not-for-production-use' };
/** No run may end in a refusal by the edge's own limits; they are counted all the same. */
const UNREACHED = { requests: 100_000_000, per: '1m' };

export const countersignMemory: Peer = {
  name: 'countersign',
  title: 'Countersign, full job, sessions in memory',
  required: true,
  start: (stage) => startGateway(stage, { store: 'memory' }),
};

/** The gateway's own command, logging at `info`, with one session opened. `sessions` is its configuration key. */
export async function startGateway(stage: Stage, sessions: object): Promise<RunningPeer> {
  const { children, folder, upstreamPort } = stage;
  const port = await freePort();
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'countersign.yaml');
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(configuration(port, upstreamPort, sessions)));
  const server = await children.serve(port, { place: 'proxy', command: [process.execPath, MAIN, 'serve', file] });
  const cookie = await signIn(port);
  return { ...server, cookie, check: () => checkJob(port, cookie) };
}

function configuration(port: number, upstreamPort: number, sessions: object): object {
  return {
    listen: { host: '127.0.0.1', port },
    sessions,
    limits: { address: UNREACHED, session: UNREACHED, sessionCreation: UNREACHED },
    drain: '1s',
    log: { level: 'info' },
    tenants: {
      bench: {
        origins: [`http://127.0.0.1:${port}`],
        upstream: { endpoints: [`http://127.0.0.1:${upstreamPort}`], version: 'v4.20190315' },
        keypairs: { visitor: KEYPAIR },
        login: { visitor: { role: 'visitor' } },
        routes: [{ path: '/v2', roles: ['visitor'] }],
      },
    },
  };
}

async function signIn(port: number): Promise<string> {
  const answer = await ask(port, {
    method: 'POST',
    path: '/-/session',
    headers: { ...PAGE_HEADERS, 'Content-Type': 'application/json' },
    body: JSON.stringify({ method: 'visitor' }),
  });
  const [cookie] = answer.headers['set-cookie'] ?? [];
  if (answer.status !== 201 || cookie === undefined) throw unexpected('the login', answer);
  return cookie.slice(0, cookie.indexOf(';'));
}

/** No session, no relay; and the upstream sees a signature by the keypair and never the cookie. */
async function checkJob(port: number, cookie: string): Promise<void> {
  const question = { method: 'GET', path: SEEN_PATH, headers: PAGE_HEADERS };
  const nobody = await ask(port, question);
  if (nobody.status !== 401) throw unexpected('a request without the cookie', nobody);
  const answer = await ask(port, { ...question, headers: { ...PAGE_HEADERS, Cookie: cookie } });
  const signature = new RegExp(
    `^\\{"authorization":"Service signMethod=HMAC-SHA256, credential=${KEYPAIR.accessKey}:[0-9a-f]{64}","cookie":""\\}$`,
  );
  if (answer.status !== 200 || !signature.test(answer.body)) throw unexpected('a signed request', answer);
}

function unexpected(what: string, { status, body }: Answer): Error {
  return new Error(`${what} was answered with ${status} ${body.slice(0, 200)}`);
}

import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { type Demo, startDemo } from './demo.ts';
import { statusOf } from './load.ts';
import { mergeYaml } from './yaml.ts';

const UNLIMITED = { requests: 10_000_000, per: '1m' };
const LIMITS = JSON.stringify({ address: UNLIMITED, session: UNLIMITED, sessionCreation: UNLIMITED });

export interface Workers {
  readonly demo: Demo;
  /** Origin of the operators' listener. */
  readonly operator: string;
  /** Process ids of all workers so far, in the order in which they began to accept connections. */
  pids(): number[];
  /** Resolves once the log has a text so many times. */
  logged(text: string, count?: number): Promise<void>;
}

/** The demo with so many workers, an operators' listener and no limits, as processes; `overlays` are laid over its configuration. */
export async function startWorkers(count: number, ...overlays: readonly string[]): Promise<Workers> {
  const workers = `workers: ${count}\noperator: { port: 0 }\nlimits: ${LIMITS}\nservice: { rateLimit: ${JSON.stringify(UNLIMITED)} }`;
  const demo = await startDemo((yaml) => mergeYaml(yaml, workers, ...overlays));
  onTestFinished(() => demo.stop());
  await demo.process.until(/"msg":"ready"/);
  return {
    demo,
    operator: /countersign for operators: (\S+)/.exec(demo.process.stderr)?.[1] ?? '',
    logged: (text, count = 1) => written(demo, text, count),
    pids: () =>
      [...demo.process.stdout.matchAll(/"pid":(\d+),"msg":"a worker accepts connections"/g)].map(([, pid]) =>
        Number(pid),
      ),
  };
}

/** Resolves once the process has written a text so many times. What it writes under load is too much to be searched again and again. */
async function written({ process }: Demo, text: string, count: number): Promise<void> {
  let found = 0;
  for (let from = 0; ; ) {
    for (let at = process.stdout.indexOf(text, from); at !== -1; at = process.stdout.indexOf(text, from)) {
      from = at + text.length;
      if (++found === count) return;
    }
    from = Math.max(from, process.stdout.length - text.length);
    const exited = process.exited().then(() => true);
    if (await Promise.race([once(process.child, 'output').then(() => false), exited])) {
      throw new Error(`ended without ${text}: ${process.stderr}`);
    }
  }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Asks on 40 connections of their own, so that each worker gets some; gives the statuses there were. */
export async function askOften(port: number, path = '/v2', cookie = ''): Promise<Set<number>> {
  const headers = { Cookie: cookie };
  return new Set(await Promise.all(Array.from({ length: 40 }, () => statusOf({ port, path, headers }))));
}

/** Opens event streams of a kernel, each a WebSocket on a connection of its own. */
export async function openStreams(origin: string, cookie: string, count: number): Promise<WebSocket[]> {
  const kernel = await fetch(`${origin}/v2/kernel/create`, {
    method: 'POST',
    headers: { Cookie: cookie, 'Content-Type': 'application/json', 'X-Countersign': '1' },
    body: '{"lang":"python"}',
  });
  const { id } = (await kernel.json()) as { id: string };
  const url = `${origin.replace('http', 'ws')}/v2/stream/kernel/${id}/pty`;
  const sockets = Array.from(
    { length: count },
    () => new WebSocket(url, { headers: { Cookie: cookie, Origin: origin } }),
  );
  await Promise.all(sockets.map((socket) => once(socket, 'open')));
  return sockets;
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './free-port.ts';

/** A redis-server of the test's own, on a free loopback port, keeping nothing on disk. */
export interface TestRedis {
  readonly url: string;
  readonly port: number;
  /** SIGKILL, as a crash: clients see their connections break. */
  kill(): Promise<void>;
  /** Starts it again, empty, on the same port; kills it first if it runs. */
  restart(): Promise<void>;
  /** SIGSTOP: connections stay open, nothing answers. */
  pause(): void;
  resume(): void;
  /** Ends it and removes its folder; the last call. */
  stop(): Promise<void>;
}

/** Starts a redis-server, from `REDIS_SERVER` or the PATH. `args` are added to its command line. */
export async function startRedis(args: readonly string[] = []): Promise<TestRedis> {
  const binary = findBinary();
  const dir = mkdtempSync(join(tmpdir(), 'countersign-redis-'));
  const port = await freePort();
  let child = await launch(binary, port, dir, args);

  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    kill,
    async restart() {
      await kill();
      child = await launch(binary, port, dir, args);
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    async stop() {
      await kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function findBinary(): string {
  const named = process.env['REDIS_SERVER'];
  const candidates = named
    ? [named]
    : (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'redis-server'));
  const found = candidates.find(isExecutable);
  if (found !== undefined) return found;
  throw new Error(
    named
      ? `REDIS_SERVER names ${named}, which cannot be executed.`
      : 'These tests need a real Redis: install redis-server on the PATH, or set REDIS_SERVER to its path.',
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function launch(binary: string, port: number, dir: string, args: readonly string[]): Promise<ChildProcess> {
  const fixed = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'no'];
  const child = spawn(binary, [...fixed, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let log = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const failed = new Promise<never>((_resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`redis-server ended with ${code} on port ${port}:\n${log}`)));
  });
  await Promise.race([accepts(port), failed]);
  failed.catch(() => undefined);
  return child;
}

/** Redis tells nobody when it is up, so this asks until it answers. */
async function accepts(port: number): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      socket.write('PING\r\n');
      await once(socket, 'data');
      return;
    } catch {
      await delay(10);
    } finally {
      socket.destroy();
    }
  }
  throw new Error(`redis-server does not answer on port ${port}.`);
}

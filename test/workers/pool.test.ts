import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { createLog } from '../../src/observe/log.ts';
import { bindShared, reserveAddress } from '../../src/workers/listening-socket.ts';
import type { PrimaryCalls, Setup } from '../../src/workers/messages.ts';
import { WorkerPool } from '../../src/workers/pool.ts';
import { isAlive } from '../kit/workers.ts';

const program = (name: string) => fileURLToPath(new URL(`programs/${name}.ts`, import.meta.url));

async function poolOf(name: string, args: readonly string[] = []) {
  const lines: string[] = [];
  const address = await reserveAddress('127.0.0.1', 0);
  const { promise: hopeless, resolve: onHopeless } = Promise.withResolvers<Error>();
  const pool = new WorkerPool({
    size: 2,
    bind: () => bindShared(address),
    prepare: (id) => ({ script: program(name), args, setup: { id } as Setup, onLines: () => undefined }),
    calls: () => ({}) as PrimaryCalls,
    onEnded: () => undefined,
    onHopeless,
    log: createLog('info', { write: (line) => void lines.push(line) }),
  });
  onTestFinished(async () => void (await pool.stop(0)));
  return { pool, address, hopeless, log: () => lines.join('') };
}

it('workers that cannot start are an error that says so, and none is left behind', async () => {
  const { pool } = await poolOf('ends');
  await expect(pool.start()).rejects.toThrow(/^worker \d could not start: it ended with exit code 3$/);
  await pool.stop(0);
  expect([...pool.processes]).toEqual([]);
});

it('a worker that is lost and cannot be started again: tried more and more slowly, then given up', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-pool-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const flag = join(folder, 'flag');
  writeFileSync(flag, '');
  const { pool, address, hopeless, log } = await poolOf('while-there', [flag]);
  await pool.start();
  expect(pool.serving).toBe(2);
  rmSync(flag);
  const begun = performance.now();
  for (const { pid } of [...pool.processes]) process.kill(pid, 'SIGKILL');
  expect((await hopeless).message).toMatch(/^worker \d could not start: it ended with exit code 3$/);
  expect(performance.now() - begun).toBeGreaterThan(100 + 200 + 400);
  expect(log().match(/could not start/g)?.length).toBeLessThan(20);
  // Nobody is kept waiting on a socket that no worker will come back to.
  const socket = connect(address.port, address.host);
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toBe('ECONNREFUSED');
});

it('a replacement that does not start leaves the worker it was to replace at work', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-pool-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const flag = join(folder, 'flag');
  writeFileSync(flag, '');
  const { pool, log } = await poolOf('while-there', [flag]);
  await pool.start();
  const before = [...pool.processes].map(({ pid }) => pid);
  rmSync(flag);
  await pool.roll(() => 0);
  expect(log()).toContain('the workers are not replaced: a new one does not start');
  expect([...pool.processes].map(({ pid }) => pid).filter((pid) => before.includes(pid))).toEqual(before);
  expect(before.every(isAlive)).toBe(true);
  writeFileSync(flag, '');
  await pool.roll(() => 0);
  expect(log()).toContain('the workers are replaced');
  expect(pool.serving).toBe(2);
});

import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { expect, it, vi } from 'vitest';
import { signIn } from '../kit/demo.ts';
import { startLoad, statusOf } from '../kit/load.ts';
import { RawClient } from '../kit/raw-client.ts';
import { startWorkers } from '../kit/workers.ts';

const ROUNDS = 3;
/** Every round starts new processes beside those that work at full load. */
vi.setConfig({ testTimeout: 120_000 });

it('SIGUSR2 replaces the workers under load, and a reload comes between: not one request fails', async () => {
  const { demo, pids, logged } = await startWorkers(2);
  const cookie = await signIn(demo.origin);
  const target = { port: demo.port, path: '/v2', headers: { Cookie: cookie }, status: 200 };
  const load = startLoad(target, { fresh: 8, kept: 4 });
  for (let round = 1; round <= ROUNDS; round++) {
    demo.process.child.kill('SIGUSR2');
    await logged('the workers are replaced', round);
    if (round > 1) continue;
    writeFileSync(demo.file, `${readFileSync(demo.file, 'utf8')}drain: 9s\n`);
    await logged('configuration reloaded');
  }
  const { answered, failures } = await load.stop();
  expect(failures).toEqual([]);
  expect(answered).toBeGreaterThan(500);
  expect(new Set(pids()).size).toBe(2 * (ROUNDS + 1));
  expect(await demo.process.kill('SIGTERM')).toBe(0);
});

it('connections that wait to be accepted by workers that crash are answered by those that take their places', async () => {
  const { demo, pids, logged } = await startWorkers(2);
  for (const pid of pids()) process.kill(pid, 'SIGSTOP');
  const clients = await Promise.all(Array.from({ length: 16 }, () => RawClient.connect(demo.port)));
  for (const client of clients) client.send(`GET /-/session HTTP/1.1\r\nHost: localhost:${demo.port}\r\n\r\n`);
  for (const pid of pids()) process.kill(pid, 'SIGKILL');
  await logged('a worker accepts connections', 4);
  const answers = await Promise.all(clients.map((client) => client.response()));
  expect(answers.map((answer) => answer?.status)).toEqual(clients.map(() => 200));
  expect(demo.process.stdout).toContain('a worker ended by SIGKILL; another takes its place');
  for (const client of clients) client.destroy();
});

it('a kept connection is told to close by its next answer from a worker that was replaced, and never cut before', async () => {
  const { demo, logged } = await startWorkers(2);
  const kept = await Promise.all(Array.from({ length: 12 }, () => RawClient.connect(demo.port)));
  const ask = (client: RawClient) =>
    client.send(`GET /-/session HTTP/1.1\r\nHost: localhost:${demo.port}\r\n\r\n`).response();
  for (const answer of await Promise.all(kept.map(ask))) expect(answer?.header('connection')).not.toBe('close');
  demo.process.child.kill('SIGUSR2');
  await logged('the workers are replaced');
  for (const answer of await Promise.all(kept.map(ask))) {
    expect([answer?.status, answer?.header('connection')]).toEqual([200, 'close']);
  }
});

it('what a replaced worker has in flight is finished', async () => {
  const slow = createServer().listen(0, '127.0.0.1');
  await once(slow, 'listening');
  const { port } = slow.address() as { port: number };
  const { demo, logged } = await startWorkers(
    2,
    `tenants: { demo: { upstream: { endpoints: ["http://127.0.0.1:${port}"] } } }`,
  );
  const cookie = await signIn(demo.origin);
  const asked = once(slow, 'connection');
  const answer = statusOf({ port: demo.port, path: '/v2/slow', headers: { Cookie: cookie } });
  const [upstream] = await asked;
  demo.process.child.kill('SIGUSR2');
  await logged('the workers are replaced');
  upstream.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone');
  expect(await answer).toBe(200);
  slow.close();
});

it('with one process there is no worker to replace: SIGUSR2 is a warning and no end', async () => {
  const { demo, logged } = await startWorkers(1);
  demo.process.child.kill('SIGUSR2');
  await logged('SIGUSR2 replaces workers');
  expect((await fetch(`${demo.origin}/-/livez`)).status).toBe(200);
});

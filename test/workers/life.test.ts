import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { expect, it, vi } from 'vitest';
import { signIn, startDemo } from '../kit/demo.ts';
import { statusOf } from '../kit/load.ts';
import { askOften, isAlive, openStreams, startWorkers } from '../kit/workers.ts';

/** Each test starts several processes. */
vi.setConfig({ testTimeout: 90_000 });

it('every worker serves, and log lines say which one it was', async () => {
  const { demo, logged } = await startWorkers(2);
  await askOften(demo.port);
  await logged('"msg":"request"', 40);
  const lines = demo.process.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { worker?: number; msg: string });
  const requests = lines.filter(({ msg }) => msg === 'request');
  expect(new Set(requests.map(({ worker }) => worker))).toEqual(new Set([1, 2]));
});

it('a worker that is killed is replaced, again and again', async () => {
  const { demo, pids, logged } = await startWorkers(2);
  for (let kills = 1; kills <= 3; kills++) {
    process.kill(pids().at(-1) ?? 0, 'SIGKILL');
    await logged('a worker accepts connections', 2 + kills);
  }
  expect(await askOften(demo.port)).toEqual(new Set([401]));
  expect(await demo.process.kill('SIGTERM')).toBe(0);
});

it('a worker that crashes after a faulty change of the file starts with the configuration in force', async () => {
  const { demo, pids, logged } = await startWorkers(2);
  writeFileSync(demo.file, readFileSync(demo.file, 'utf8').replace('site:', 'sight:'));
  await logged('configuration not reloaded');
  for (const pid of pids()) process.kill(pid, 'SIGKILL');
  await logged('a worker accepts connections', 4);
  expect(await askOften(demo.port)).toEqual(new Set([401]));
});

it('a reload takes effect in every worker before it is answered', async () => {
  const { demo, operator } = await startWorkers(4);
  writeFileSync(demo.file, readFileSync(demo.file, 'utf8').replaceAll('/v2', '/v3'));
  const answer = await fetch(`${operator}/api/reload`, { method: 'POST', headers: { 'X-Countersign': '1' } });
  expect(answer.status).toBe(200);
  expect(await askOften(demo.port, '/v2')).toEqual(new Set([404]));
  expect(await askOften(demo.port, '/v3')).toEqual(new Set([401]));
});

it('when the primary is killed its workers finish what they have in flight and end', async () => {
  const slow = createServer().listen(0, '127.0.0.1');
  await once(slow, 'listening');
  const { port } = slow.address() as { port: number };
  const { demo } = await startWorkers(
    2,
    `tenants: { demo: { upstream: { endpoints: ["http://127.0.0.1:${port}"] } } }`,
  );
  const cookie = await signIn(demo.origin);
  const asked = once(slow, 'connection');
  const answer = statusOf({ port: demo.port, path: '/v2/slow', headers: { Cookie: cookie } });
  const [upstream] = await asked;
  demo.process.child.kill('SIGKILL');
  await once(demo.process.child, 'exit');
  await expect.poll(() => fetch(`${demo.origin}/-/livez`).catch(() => 'refused')).toBe('refused');
  upstream.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone');
  expect(await answer).toBe(200);
  // Standard error is the workers' too: it is closed when the last of them has ended.
  await demo.process.exited();
  slow.close();
});

it('SIGTERM: what is in flight is finished, streams end at the deadline, exit 0', async () => {
  const { demo, pids } = await startWorkers(2, 'drain: 200ms');
  const cookie = await signIn(demo.origin);
  const sockets = await openStreams(demo.origin, cookie, 6);
  const closed = Promise.all(sockets.map((socket) => once(socket, 'close')));
  expect(await demo.process.kill('SIGTERM')).toBe(0);
  await closed;
  expect(pids().filter(isAlive)).toEqual([]);
  expect(demo.process.stdout).toMatch(/"msg":"draining"\}\n(?:.*\n)*.*"msg":"stopped"\}\n$/);
});

it('signals sent to the whole process group are for the primary: SIGHUP reloads once, SIGTERM ends all in order', async () => {
  const { demo, pids, logged } = await startWorkers(2);
  const signal = (name: NodeJS.Signals) => {
    for (const pid of pids()) process.kill(pid, name);
    demo.process.child.kill(name);
  };
  signal('SIGHUP');
  await logged('configuration reloaded');
  signal('SIGUSR2');
  await logged('the workers are replaced');
  expect(await askOften(demo.port)).toEqual(new Set([401]));
  demo.process.child.kill('SIGTERM');
  for (const pid of pids().filter(isAlive)) process.kill(pid, 'SIGTERM');
  expect(await demo.process.exited()).toBe(0);
  expect(demo.process.stdout).not.toContain('a worker ended');
  expect(demo.process.stdout.match(/configuration reloaded/g)).toHaveLength(1);
});

it('a port in use is one clear line and exit 1, even if those who use it would share', async () => {
  const { demo } = await startWorkers(2);
  const second = await startDemo(
    (yaml) => `${yaml.replace(/port: \d+ \}/, `port: ${demo.port} }`)}\nworkers: 2\n`,
  ).catch((error: Error) => error);
  expect(second).toBeInstanceOf(Error);
  expect((second as Error).message).toMatch(
    new RegExp(`countersign serve: the gateway cannot listen: port ${demo.port} on 127\\.0\\.0\\.1 is in use\\n$`),
  );
});

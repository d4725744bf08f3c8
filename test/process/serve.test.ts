import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { startGateway, writeDemoConfig } from '../browser/demo-gateway.ts';
import { CliProcess, ROOT } from '../kit/cli.ts';
import { type Demo, signIn, startDemo } from '../kit/demo.ts';
import { startRedis } from '../kit/redis.ts';

let demo: Demo | undefined;
afterEach(async () => {
  await demo?.stop();
  demo = undefined;
});

it('what the front page promises: 401, a session, 200, and rate headers that fall by one', async () => {
  demo = await startDemo();
  const refused = await fetch(`${demo.origin}/v2`);
  expect(refused.status).toBe(401);
  expect(refused.headers.get('content-type')).toBe('application/problem+json');
  for (const name of ['limit', 'remaining', 'reset'])
    expect(refused.headers.get(`x-ratelimit-${name}`)).toMatch(/^\d+$/);
  expect(await refused.json()).toMatchObject({ type: expect.stringMatching(/\/unauthorized$/), status: 401 });

  const cookie = await signIn(demo.origin);
  const remaining: number[] = [];
  for (let i = 0; i < 3; i++) {
    const response = await fetch(`${demo.origin}/v2`, { headers: { Cookie: cookie } });
    expect([response.status, await response.json()]).toEqual([200, { version: 'v4.20190315' }]);
    remaining.push(Number(response.headers.get('x-ratelimit-remaining')));
  }
  const [first = 0] = remaining;
  expect(remaining).toEqual([first, first - 1, first - 2]);
});

it('SIGTERM lets a request in flight finish, refuses new connections, flushes the log and exits 0', async () => {
  const slow = createServer();
  const asked = once(slow, 'connection');
  slow.listen(0, '127.0.0.1');
  await once(slow, 'listening');
  const { port } = slow.address() as { port: number };
  demo = await startDemo((yaml) => yaml.replace(/endpoints: \[.*\]/, `endpoints: [http://127.0.0.1:${port}]`));
  const cookie = await signIn(demo.origin);
  const answer = fetch(`${demo.origin}/v2/slow`, { headers: { Cookie: cookie } });
  const [upstream] = await asked;

  demo.process.child.kill('SIGTERM');
  await demo.process.until(/"msg":"draining"/);
  await expect(fetch(`${demo.origin}/-/livez`)).rejects.toThrow();
  upstream.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone');

  expect(await (await answer).text()).toBe('done');
  expect((await answer).headers.get('connection')).toBe('close');
  expect(await demo.process.exited()).toBe(0);
  expect(demo.process.stdout).toMatch(/"path":"\/v2\/slow".*"status":200/);
  expect(demo.process.stdout).toMatch(/"msg":"stopped"\}\n$/);
  slow.close();
});

it('SIGTERM ends what is still open at the deadline: a WebSocket does not hold the process', async () => {
  demo = await startDemo((yaml) => `${yaml}\ndrain: 100ms\n`);
  const cookie = await signIn(demo.origin);
  const kernel = await fetch(`${demo.origin}/v2/kernel/create`, {
    method: 'POST',
    headers: { Cookie: cookie, 'Content-Type': 'application/json', 'X-Countersign': '1' },
    body: '{"lang":"python"}',
  });
  const { id } = (await kernel.json()) as { id: string };
  const socket = new WebSocket(`${demo.origin.replace('http', 'ws')}/v2/stream/kernel/${id}/pty`, {
    headers: { Cookie: cookie, Origin: demo.origin },
  });
  await once(socket, 'open');
  const closed = once(socket, 'close');
  expect(await demo.process.kill('SIGTERM')).toBe(0);
  await closed;
});

it('SIGTERM to npm ends the gateway it runs: no shell in between dies and leaves it behind', async () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(scripts.start).toBe(`${scripts.countersign} serve config/demo.yaml`);
  const folder = mkdtempSync(join(tmpdir(), 'countersign-npm-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { file, port } = await writeDemoConfig(folder);
  const npm = await startGateway('npm', ['run', '-s', 'countersign', '--', 'serve', file], { cwd: ROOT });
  expect((await fetch(`http://127.0.0.1:${port}/-/livez`)).status).toBe(200);
  expect(await npm.stop()).toBe(0);
  await expect(fetch(`http://127.0.0.1:${port}/-/livez`)).rejects.toThrow();
});

it('a port in use is one clear line and exit 1', async () => {
  demo = await startDemo();
  const { port } = demo;
  const second = await startDemo((yaml) => yaml.replace(/port: \d+ \}/, `port: ${port} }`)).catch(
    (error: Error) => error,
  );
  expect(second).toBeInstanceOf(Error);
  expect((second as Error).message).toMatch(
    new RegExp(`countersign serve: the gateway cannot listen: port ${port} on 127\\.0\\.0\\.1 is in use\\n$`),
  );
});

it('a configuration with faults is refused with all of them and exit 2', async () => {
  const run = new CliProcess(['serve', 'package.json']);
  expect(await run.exited()).toBe(2);
  expect(run.stderr).toMatch(/package\.json:2:3: name: unknown key\n/);
  expect(run.stderr).toMatch(/faults in the configuration\n$/);
  expect(run.stderr).not.toMatch(/\bat .*\.ts/);
});

it('starts without its Redis: 503 where a session is needed, and all is well once Redis comes', async () => {
  const redis = await startRedis();
  try {
    await redis.kill();
    demo = await startDemo((yaml) => yaml.replace('store: memory', `store: ${redis.url}`));
    const { origin } = demo;
    expect((await fetch(`${origin}/-/livez`)).status).toBe(200);
    const refused = await fetch(`${origin}/v2`, { headers: { Cookie: `session=${'x'.repeat(43)}` } });
    expect(refused.status).toBe(503);
    await redis.restart();
    await expect.poll(() => signIn(origin).catch(() => undefined), { timeout: 10_000 }).toBeTypeOf('string');
  } finally {
    await redis.stop();
  }
});

it('with Redis killed under it: 503 with Retry-After, never a pass; and the session is good again once Redis is back', async () => {
  const redis = await startRedis();
  try {
    demo = await startDemo((yaml) => yaml.replace('store: memory', `store: ${redis.url}`));
    const cookie = await signIn(demo.origin);
    const ask = () => fetch(`${demo?.origin}/v2`, { headers: { Cookie: cookie } });
    expect((await ask()).status).toBe(200);

    redis.pause();
    // A session in memory passes until the silence is noticed, two seconds at most: meanwhile nobody can revoke it either.
    await expect.poll(async () => (await ask()).status, { timeout: 5_000 }).toBe(503);
    const refused = await ask();
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await refused.json()).toMatchObject({ type: expect.stringMatching(/\/session-store-unavailable$/) });
    expect((await fetch(`${demo.origin}/v2`)).status).toBe(401);
    redis.resume();
    await expect.poll(async () => (await ask()).status, { timeout: 10_000 }).toBe(200);

    await redis.kill();
    await expect.poll(async () => (await ask()).status).toBe(503);
    await redis.restart();
    // The restarted server has lost its data: the store answers again, and what it answers is that there is no session.
    await expect.poll(async () => (await ask()).status, { timeout: 10_000 }).toBe(401);
    const again = await signIn(demo.origin);
    expect((await fetch(`${demo.origin}/v2`, { headers: { Cookie: again } })).status).toBe(200);
  } finally {
    await redis.stop();
  }
});

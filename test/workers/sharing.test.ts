import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { signIn } from '../kit/demo.ts';
import { freePort } from '../kit/free-port.ts';
import { statusOf } from '../kit/load.ts';
import { RawClient } from '../kit/raw-client.ts';
import { startRedis } from '../kit/redis.ts';
import { askOften, isAlive, openStreams, startWorkers, type Workers } from '../kit/workers.ts';

const ADMIN = { method: 'password', username: 'admin', password: 'countersign-demo' };

/** Starts with a store of the kind, a real Redis among them. */
async function startOn(store: string, count: number, ...overlays: readonly string[]): Promise<Workers> {
  if (store === 'memory') return startWorkers(count, ...overlays);
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  return startWorkers(count, `sessions: { store: "${redis.url}" }`, ...overlays);
}

/** Sends a request on a connection of its own, which may be any worker's. */
async function send(
  origin: string,
  method: string,
  path: string,
  { cookie = '', body }: { cookie?: string; body?: object },
) {
  const headers = { Cookie: cookie, Connection: 'close', 'Content-Type': 'application/json', 'X-Countersign': '1' };
  const response = await fetch(`${origin}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  await response.arrayBuffer();
  return response.status;
}

/** So many that each worker gets some. */
function connections(port: number): Promise<RawClient[]> {
  return Promise.all(Array.from({ length: 30 }, () => RawClient.connect(port)));
}

describe.each(['memory', 'redis'])('sessions in %s', { timeout: 90_000 }, (store) => {
  /** In memory no worker lets an ended session in once its end has been answered; through Redis all hear of it a moment later. */
  const expectEnded = async ({ demo }: Workers, cookie: string) => {
    const ask = () => askOften(demo.port, '/v2', cookie);
    if (store === 'memory') expect(await ask()).toEqual(new Set([401]));
    else await expect.poll(ask).toEqual(new Set([401]));
  };

  it('who has signed in is known to every worker at once, and who has signed out to none', async () => {
    const workers = await startOn(store, 3);
    const { demo } = workers;
    for (let logins = 0; logins < 10; logins++) {
      const cookie = await signIn(demo.origin);
      expect(await askOften(demo.port, '/v2', cookie)).toEqual(new Set([200]));
      expect(await send(demo.origin, 'DELETE', '/-/session', { cookie })).toBe(204);
      await expectEnded(workers, cookie);
    }
  });

  it('a session that is ended elsewhere loses its open streams on every worker', async () => {
    const workers = await startOn(store, 3);
    const { demo, operator } = workers;
    const [victim, other] = [await signIn(demo.origin, ADMIN), await signIn(demo.origin, ADMIN)];
    const streams = await openStreams(demo.origin, victim, 12);
    const closed = Promise.all(streams.map((stream) => once(stream, 'close')));
    const kept = await openStreams(demo.origin, other, 3);
    expect(await send(demo.origin, 'DELETE', '/-/sessions', { cookie: other })).toBe(204);
    await closed;
    await expectEnded(workers, victim);
    expect(await askOften(demo.port, '/v2', other)).toEqual(new Set([200]));
    expect(kept.map(({ readyState }) => readyState)).toEqual([1, 1, 1]);

    const over = Promise.all(kept.map((stream) => once(stream, 'close')));
    expect(await send(operator, 'DELETE', '/api/sessions?tenant=demo&subject=admin', {})).toBe(200);
    await over;
    await expectEnded(workers, other);
  });

  it('a worker that takes another’s place knows the sessions there are', async () => {
    const { demo, pids, logged } = await startOn(store, 2);
    const cookie = await signIn(demo.origin);
    for (const pid of pids()) process.kill(pid, 'SIGKILL');
    await logged('a worker accepts connections', 4);
    expect(await askOften(demo.port, '/v2', cookie)).toEqual(new Set([200]));
  });

  it('guessing passwords on many connections at once gains not one guess', async () => {
    const { demo, pids, logged } = await startOn(store, 3, 'limits: { failedLogins: { perUser: 5 } }');
    const guess = () => send(demo.origin, 'POST', '/-/session', { body: { ...ADMIN, password: 'wrong' } });
    const statuses = await Promise.all(Array.from({ length: 30 }, guess));
    expect(statuses.filter((status) => status === 401)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(25);
    // Nor does a worker that starts anew.
    process.kill(pids()[0] ?? 0, 'SIGKILL');
    await logged('a worker accepts connections', 4);
    expect(new Set(await Promise.all(Array.from({ length: 12 }, guess)))).toEqual(new Set([429]));
  });
});

it('a worker that hangs is replaced before a logout is answered: waking up it would let the session in', async () => {
  const { demo, pids, logged } = await startWorkers(3);
  const cookie = await signIn(demo.origin);
  const [hung = 0] = pids();
  process.kill(hung, 'SIGSTOP');
  onTestFinished(() => void (isAlive(hung) && process.kill(hung, 'SIGKILL')));
  const clients = await connections(demo.port);
  onTestFinished(() => {
    for (const client of clients) client.destroy();
  });
  const ask = (client: RawClient, request: string) =>
    client
      .send(`${request} HTTP/1.1\r\nHost: localhost:${demo.port}\r\nX-Countersign: 1\r\nCookie: ${cookie}\r\n\r\n`)
      .response();
  const awake = await Promise.race(clients.map((client) => ask(client, 'GET /-/livez').then(() => client)));
  expect((await ask(awake, 'DELETE /-/session'))?.status).toBe(204);
  expect(isAlive(hung)).toBe(false);
  await logged('a worker ended by SIGKILL');
  expect(await askOften(demo.port, '/v2', cookie)).toEqual(new Set([401]));
}, 90_000);

it('a worker that hangs is replaced before a login is answered: it would not know the session', async () => {
  const { demo, pids } = await startWorkers(3);
  const [hung = 0] = pids();
  process.kill(hung, 'SIGSTOP');
  onTestFinished(() => void (isAlive(hung) && process.kill(hung, 'SIGKILL')));
  const logins = await connections(demo.port);
  const body = '{"method":"visitor"}';
  const head = `POST /-/session HTTP/1.1\r\nHost: localhost:${demo.port}\r\nX-Countersign: 1\r\nContent-Type: application/json\r\n`;
  for (const client of logins) client.send(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
  const first = await Promise.race(logins.map((client) => client.response()));
  expect(first?.status).toBe(201);
  expect(isAlive(hung)).toBe(false);
  const cookie = first?.header('set-cookie')?.split(';', 1)[0] ?? '';
  expect(await askOften(demo.port, '/v2', cookie)).toEqual(new Set([200]));
  for (const client of logins) client.destroy();
}, 90_000);

describe('limits of the edge', { timeout: 90_000 }, () => {
  it.each([
    [400, 440],
    [20, 22],
  ])(
    'hold over all workers: of %i by one session at most %i pass, however many connections they come on',
    async (requests, most) => {
      const limit = `{ requests: ${requests}, per: 1h }`;
      const { demo, pids, logged } = await startWorkers(4, `limits: { session: ${limit} }`);
      const cookie = await signIn(demo.origin);
      const ask = () => statusOf({ port: demo.port, path: '/v2', headers: { Cookie: cookie } });
      const statuses: number[] = [];
      while (statuses.length < 2 * requests) statuses.push(await ask());
      const passed = statuses.filter((status) => status === 200).length;
      expect(statuses.filter((status) => status === 429)).toHaveLength(statuses.length - passed);
      expect(passed).toBeGreaterThanOrEqual(requests);
      expect(passed).toBeLessThanOrEqual(most);

      process.kill(pids()[0] ?? 0, 'SIGKILL');
      await logged('a worker accepts connections', 5);
      const after = await Promise.all(Array.from({ length: 40 }, ask));
      // What it had counted and not yet told dies with a worker.
      expect(after.filter((status) => status === 200).length).toBeLessThanOrEqual(most - requests);
    },
  );
});

describe('what operators see', { timeout: 90_000 }, () => {
  it('is what all workers did, also those that are no more', async () => {
    const { demo, operator, pids, logged } = await startWorkers(2, 'audit: { file: stdout }');
    const cookie = await signIn(demo.origin);
    await askOften(demo.port, '/v2', cookie);
    await askOften(demo.port, '/v2');
    const status = async () => (await (await fetch(`${operator}/api/status`)).json()) as object;
    const total = { requests: 81, clientErrors: 40, serverErrors: 0 };
    const seen = {
      ready: true,
      traffic: { total },
      tenants: [{ name: 'demo', sessions: 1 }],
      refusals: [{ code: 'unauthorized', total: 40 }],
      sessions: { created: 1, ended: 0, streams: 0 },
      endpoints: [{ attempts: { answered: 40 }, pending: 0 }],
      keypairs: [{ role: 'visitor', limit: 10_000_000 }, { role: 'admin' }],
    };
    await expect.poll(status).toMatchObject(seen);
    const metrics = async () => (await fetch(`${operator}/metrics`)).text();
    expect(await metrics()).toMatch(/^countersign_workers 2$/m);
    expect(await metrics()).toMatch(
      /^countersign_http_requests_total\{tenant="demo",route="\/v2",method="GET",status="2xx"\} 40$/m,
    );
    expect(await metrics()).toMatch(/^countersign_worker_resident_memory_bytes\{worker="2"\} \d{7,}$/m);
    expect(demo.process.stdout.match(/"event":"refusal"/g)).toHaveLength(40);

    const streams = await openStreams(demo.origin, cookie, 5);
    await expect.poll(status).toMatchObject({ sessions: { streams: 5 } });
    for (const stream of streams) stream.terminate();
    for (const pid of pids()) process.kill(pid, 'SIGKILL');
    await logged('a worker accepts connections', 4);
    await expect.poll(status).toMatchObject({ sessions: { created: 1, streams: 0 }, refusals: [{ total: 40 }] });
    expect(await metrics()).toMatch(/^countersign_refusals_total\{tenant="demo",code="unauthorized"\} 40$/m);
  });

  it('an endpoint that fails: the worst of what the workers know, and the sum of what they did', async () => {
    const dead = `http://127.0.0.1:${await freePort()}`;
    const { demo, operator, pids, logged } = await startWorkers(
      2,
      `tenants: { demo: { upstream: { endpoints: ["${dead}"], breaker: { open: 1h, longestOpen: 1h } } } }`,
    );
    const cookie = await signIn(demo.origin);
    await expect.poll(() => askOften(demo.port, '/v2', cookie)).toEqual(new Set([503]));
    const metrics = async () => (await fetch(`${operator}/metrics`)).text();
    const opened = `countersign_upstream_breaker_transitions_total{endpoint="${dead}",to="open"} 2\n`;
    await expect.poll(metrics).toContain(opened);
    expect(await metrics()).toContain(`countersign_upstream_breaker{endpoint="${dead}"} 2\n`);
    for (const pid of pids()) process.kill(pid, 'SIGKILL');
    await logged('a worker accepts connections', 4);
    await expect.poll(metrics).toContain(`countersign_upstream_breaker{endpoint="${dead}"} 0\n`);
    expect(await metrics()).toContain(opened);
  });

  it('and what they set holds for every worker', async () => {
    const { demo, operator, logged } = await startWorkers(2);
    const headers = { 'X-Countersign': '1', 'Content-Type': 'application/json' };
    const body = JSON.stringify({ level: 'warn' });
    expect((await fetch(`${operator}/api/log-level`, { method: 'PUT', headers, body })).status).toBe(200);
    await askOften(demo.port);
    demo.process.child.kill('SIGTERM');
    expect(await demo.process.exited()).toBe(0);
    expect(demo.process.stdout).not.toContain('"msg":"request"');
    await logged('"msg":"operator"');
  });
});

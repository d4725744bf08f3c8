import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { Answer } from '../kit/answer.ts';
import { freePort } from '../kit/free-port.ts';
import { FrontEnd, HOST, ORIGIN } from '../kit/front-end.ts';
import { KEYPAIR, type StartOptions, startGateway, type TestGateway } from '../kit/gateway.ts';
import { startOperator, type TestOperator } from '../kit/operator.ts';
import { type RecordedRequest, type StrictUpstream, startStrictUpstream } from '../kit/strict-upstream.ts';

const SECOND = 1000;

let now = Date.now();
let upstream: StrictUpstream;
let gateway: TestGateway;
let page: FrontEnd;
const others: (StrictUpstream | TestOperator)[] = [];

async function start(options: StartOptions = {}): Promise<void> {
  now = Date.now();
  ({ upstream, gateway } = await startGateway({ clock: () => now, ...options }));
  page = await FrontEnd.signIn(gateway.port);
}

afterEach(async () => {
  await Promise.all(others.splice(0).map((other) => other.close()));
  await gateway.close();
  await upstream.close();
});

/** What an upstream does, changed by the test as it goes. */
function behaviour() {
  const state: { act: (request: RecordedRequest, answer: Answer) => void | Promise<void> } = {
    act: (_, answer) => answer.reset(),
  };
  return { state, respond: (request: RecordedRequest, answer: Answer) => state.act(request, answer) };
}

const isWell = () => undefined;
const status = async (method = 'POST', target = '/v2/x') =>
  (await page.fetch(method, target, method === 'GET' ? {} : { body: '{}' })).status;

async function statuses(count: number, method?: string): Promise<number[]> {
  const seen: number[] = [];
  for (let i = 0; i < count; i++) seen.push(await status(method));
  return seen;
}

const changes = () =>
  gateway.log
    .map((line) => JSON.parse(line) as Record<string, string>)
    .filter(({ msg }) => msg?.startsWith('endpoint '))
    .map(({ level, msg }) => `${level}: ${msg}`);

describe('an upstream that breaks every connection', () => {
  it('gets five requests; then users are told at once, and it is left alone', async () => {
    await start(behaviour());
    expect(await statuses(7)).toEqual([502, 502, 502, 502, 502, 503, 503]);
    expect(upstream.requests).toHaveLength(5);
    const refused = await page.fetch('GET', '/v2/x');
    expect(refused.header('content-type')).toBe('application/problem+json');
    expect(refused.header('retry-after')).toBe('1');
    expect(refused.json()).toMatchObject({ status: 503, type: expect.stringMatching(/\/upstream-unavailable$/) });
    expect(changes()).toEqual(['warn: endpoint taken out of use']);
  });

  it('is tried by one request when its time is over, however many come, and serves all once that is answered', async () => {
    const { state, respond } = behaviour();
    await start({ respond });
    await statuses(5);
    const held = Promise.withResolvers<void>();
    state.act = () => held.promise;
    now += SECOND;
    const trial = page.fetch('POST', '/v2/trial', { body: '{}' });
    await upstream.waitForRequest(({ target }) => target === '/v2/trial');
    expect(await statuses(8)).toEqual(Array(8).fill(503));
    expect(upstream.requests).toHaveLength(6);
    held.resolve();
    expect((await trial).status).toBe(200);
    expect(await statuses(8)).toEqual(Array(8).fill(200));
    expect(changes()).toEqual([
      'warn: endpoint taken out of use',
      'info: endpoint on trial',
      'info: endpoint in use again',
    ]);
  });

  it('is left alone for longer after each trial that fails', async () => {
    await start(behaviour());
    await statuses(5);
    const trials: number[] = [];
    const begin = now;
    for (; now < begin + 60 * SECOND; now += SECOND / 2) {
      if ((await status()) === 502) trials.push(now - begin);
    }
    expect(trials.length).toBeGreaterThanOrEqual(5);
    expect(trials.length).toBeLessThanOrEqual(7);
    expect(upstream.requests).toHaveLength(5 + trials.length);
  });

  it('is told from one bad request: those between that are answered begin the count anew', async () => {
    await start({ respond: (request, answer) => (request.target === '/v2/bad' ? answer.reset() : undefined) });
    for (let i = 0; i < 12; i++) {
      expect(await status('POST', '/v2/bad')).toBe(502);
      expect(await status()).toBe(200);
      now += 2 * SECOND;
    }
  });

  it('keeps nobody waiting for a connection', async () => {
    const { state, respond } = behaviour();
    await start({ respond, upstream: { connections: 2, breaker: { failures: 2 } } });
    const failing = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    state.act = async (_, answer) => {
      await failing.promise;
      // The next two, which take the place of the first, are answered at the end.
      if (upstream.requests.length > 2) return held.promise;
      await answer.send(502, [['Content-Type', 'text/html']], 'nobody is there');
    };
    const answers: string[] = [];
    const ask = async () => {
      const answer = await page.fetch('POST', '/v2/x', { body: '{}' });
      answers.push(`${answer.status} ${answer.header('content-type')}`);
    };
    const asked = Array.from({ length: 12 }, ask);
    await expect.poll(() => gateway.watched.gateway.insides.endpoints.describe(upstream.origin, now).pending).toBe(12);
    failing.resolve();
    await expect.poll(() => answers.length).toBeGreaterThanOrEqual(10);
    expect(answers.filter((answer) => answer === '503 application/problem+json').length).toBeGreaterThanOrEqual(8);
    expect(upstream.requests.length).toBeLessThanOrEqual(4);
    held.resolve();
    await Promise.all(asked);
    expect(answers.filter((answer) => !answer.startsWith('50')).length).toBe(upstream.requests.length - 2);
  });

  it('counts a GET that is asked for twice once', async () => {
    await start(behaviour());
    expect(await statuses(6, 'GET')).toEqual([502, 502, 502, 502, 502, 503]);
    expect(upstream.requests).toHaveLength(10);
  });

  it('is kept from WebSocket handshakes too', async () => {
    await start(behaviour());
    await statuses(5);
    const headers = { Host: HOST, Cookie: page.cookie, Origin: ORIGIN, 'Sec-Fetch-Site': 'same-origin' };
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/v2/stream`, { headers });
    const [, response] = await once(socket, 'unexpected-response');
    expect([response.statusCode, response.headers['retry-after']]).toEqual([503, '1']);
    expect(upstream.requests).toHaveLength(5);
  });
});

describe('what counts as a failure', () => {
  it('clients that leave do not', async () => {
    const { state, respond } = behaviour();
    await start({ respond });
    state.act = (_, answer) => answer.hang();
    for (let i = 0; i < 12; i++) {
      const client = await page.connect();
      client.send(page.bytes('POST', `/v2/left/${i}`, { body: '{}' }));
      await upstream.waitForRequest(({ target }) => target === `/v2/left/${i}`);
      client.destroy();
      await upstream.waitUntil(() => upstream.open === 0);
    }
    state.act = isWell;
    expect(await status()).toBe(200);
  });

  it('a trial that its client leaves makes room for the next', async () => {
    const { state, respond } = behaviour();
    await start({ respond });
    await statuses(5);
    state.act = (_, answer) => answer.hang();
    now += SECOND;
    const client = await page.connect();
    client.send(page.bytes('POST', '/v2/trial', { body: '{}' }));
    await upstream.waitForRequest(({ target }) => target === '/v2/trial');
    client.destroy();
    await upstream.waitUntil(() => upstream.open === 0);
    state.act = isWell;
    expect(await status()).toBe(200);
  });

  it.each([502, 503, 504])('a %i of a balancer does, though it is relayed', async (code) => {
    await start({ respond: (_, answer) => answer.send(code, [['Content-Type', 'text/html']], 'nobody is there') });
    expect(await statuses(7)).toEqual([...Array(5).fill(code), 503, 503]);
    expect(upstream.requests).toHaveLength(5);
  });

  it.each([500, 503])('a problem of the Service itself does not: %i', async (code) => {
    await start({ respond: (_, answer) => answer.json(code, { type: 'x', title: 'busy' }, [['Retry-After', '7']]) });
    const answers = await Promise.all(Array.from({ length: 12 }, () => page.fetch('POST', '/v2/x', { body: '{}' })));
    expect(answers.map((answer) => answer.status)).toEqual(Array(12).fill(code));
    expect(answers[11]?.header('retry-after')).toBe('7');
    expect(upstream.requests).toHaveLength(12);
  });

  it('silence does, and answers that are no HTTP', async () => {
    const { state, respond } = behaviour();
    await start({ respond, upstream: { timeouts: { headers: '100ms' } } });
    state.act = (_, answer) => answer.hang();
    expect(await statuses(2)).toEqual([504, 504]);
    state.act = (_, answer) => answer.raw('no HTTP at all\r\n\r\n').then(() => answer.finish());
    expect(await statuses(4)).toEqual([502, 502, 502, 503]);
  });

  it('an answer that breaks in its body does not: event streams and downloads end so when a connection is cut', async () => {
    await start({
      respond: async (_, answer) => {
        await answer.raw('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf');
        answer.reset();
      },
    });
    for (let i = 0; i < 8; i++) expect((await page.fetch('POST', '/v2/x', { body: '{}' })).complete).toBe(false);
    expect(upstream.requests).toHaveLength(8);
  });

  it('many connections that are cut at one moment are one failure among the many requests before', async () => {
    const { state, respond } = behaviour();
    await start({ respond });
    state.act = isWell;
    await statuses(40);
    const cut = Promise.withResolvers<void>();
    state.act = (_, answer) => cut.promise.then(() => answer.reset());
    const broken = Array.from({ length: 30 }, () => status());
    await upstream.waitUntil(() => upstream.requests.length === 70);
    cut.resolve();
    expect(await Promise.all(broken)).toEqual(Array(30).fill(502));
    state.act = isWell;
    expect(await status()).toBe(200);
  });

  it('a request for which no connection became free does not', async () => {
    const { state, respond } = behaviour();
    await start({ respond, upstream: { connections: 1, timeouts: { headers: '300ms', idle: '60s' } } });
    const held = Promise.withResolvers<void>();
    state.act = async (_, answer) => {
      const chunks = await answer.chunked();
      await chunks.chunk('a long download');
      await held.promise;
      await chunks.end();
    };
    const long = page.fetch('POST', '/v2/long', { body: '{}' });
    await upstream.waitForRequest();
    const waiting = await Promise.all(Array.from({ length: 8 }, () => status()));
    expect(waiting).toEqual(Array(8).fill(504));
    held.resolve();
    expect((await long).complete).toBe(true);
    state.act = isWell;
    expect(await status()).toBe(200);
  });
});

describe('several endpoints', () => {
  const startOthers = async (...responds: ReturnType<typeof behaviour>['respond'][]) => {
    const keypairs = { [KEYPAIR.accessKey]: KEYPAIR.secretKey };
    const started = await Promise.all(
      responds.map((respond) => startStrictUpstream({ keypairs, respond, clock: () => now })),
    );
    others.push(...started);
    return started;
  };

  it('share the load by turns, and the one that is slow gets less', async () => {
    const held = Promise.withResolvers<void>();
    const [a, b, c] = await startOthers(
      () => undefined,
      () => undefined,
      (request) => (request.target === '/v2/slow' ? held.promise : undefined),
    );
    if (a === undefined || b === undefined || c === undefined) throw new Error('three were started');
    await start({ upstream: { endpoints: [a.origin, b.origin, c.origin] } });
    await statuses(30);
    expect([a, b, c].map(({ requests }) => requests.length)).toEqual([10, 10, 10]);
    await statuses(2);
    const slow = page.fetch('GET', '/v2/slow');
    await c.waitForRequest(({ target }) => target === '/v2/slow');
    await statuses(20);
    expect([a, b, c].map(({ requests }) => requests.length)).toEqual([21, 21, 11]);
    held.resolve();
    expect((await slow).status).toBe(200);
  });

  it('one that fails at once does not draw the requests to itself', async () => {
    const failing = behaviour();
    failing.state.act = (_, answer) => answer.send(503, [['Content-Type', 'text/html']], 'none behind me');
    const [bad, good] = await startOthers(failing.respond, () => undefined);
    if (bad === undefined || good === undefined) throw new Error('two were started');
    await start({ upstream: { endpoints: [bad.origin, good.origin] } });
    const answers = await statuses(60);
    expect(answers.filter((code) => code !== 200)).toHaveLength(5);
    failing.state.act = isWell;
    now += SECOND;
    expect(await statuses(10)).toEqual(Array(10).fill(200));
    expect(bad.requests.length).toBeGreaterThanOrEqual(9);
  });

  it('all that cannot be reached: the request says so, later ones that the upstream is out of use', async () => {
    const [a, b] = await Promise.all([freePort(), freePort()]);
    await start({ upstream: { endpoints: [`http://127.0.0.1:${a}`, `http://127.0.0.1:${b}`] } });
    expect(await statuses(7)).toEqual([502, 502, 502, 502, 502, 503, 503]);
  });

  it('a trial that fails to connect costs its user nothing', async () => {
    const dead = await freePort();
    const [good] = await startOthers(() => undefined);
    await start({ upstream: { endpoints: [`http://127.0.0.1:${dead}`, good?.origin], breaker: { failures: 1 } } });
    for (let i = 0; i < 8; i++) {
      expect(await statuses(3)).toEqual([200, 200, 200]);
      now += 8 * SECOND;
    }
    expect(changes().filter((change) => change === 'info: endpoint on trial').length).toBeGreaterThan(3);
  });
});

describe('health checks', () => {
  it('find out that an endpoint is well, and no user has to', async () => {
    const { state, respond } = behaviour();
    await start({ respond, upstream: { health: { path: '/v2/health?by=gateway', interval: '5s' } } });
    await statuses(5);
    now += 60 * SECOND;
    const check = () => upstream.heads.filter(({ target }) => target === '/v2/health?by=gateway');
    // A user's request makes no trial, however long the endpoint has been out of use; and the check is refused only for
    // want of a signature.
    expect(await status()).toBe(503);
    await upstream.waitUntil(() => check().length > 0);
    state.act = isWell;
    await expect.poll(changes).toContain('info: endpoint on trial');
    expect(await statuses(3)).toEqual([200, 200, 200]);
    expect(check()).toHaveLength(1);
    expect(check()[0]?.text).not.toMatch(/authorization|cookie/i);
    // In use again it is not asked any more.
    now += 60 * SECOND;
    expect(await status()).toBe(200);
    expect(check()).toHaveLength(1);
  });

  it('that fail leave it out of use, and are no storm', async () => {
    const server = createServer((socket) => socket.on('error', () => undefined).once('data', () => socket.destroy()));
    let checks = 0;
    server.on('connection', () => checks++).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    await start({ upstream: { endpoints: [`http://127.0.0.1:${port}`], health: { interval: '5s' } } });
    await statuses(5);
    const before = checks;
    for (let i = 1; i <= 3; i++) {
      now += 5 * SECOND;
      await expect.poll(() => checks - before).toBe(i);
      expect(await statuses(3)).toEqual([503, 503, 503]);
    }
    expect(changes()).toEqual(['warn: endpoint taken out of use']);
    server.close();
  });
});

it('operators see it: metrics, API and readiness', async () => {
  const { state, respond } = behaviour();
  await start({ respond });
  const operator = await startOperator(gateway.watched, { clock: () => now });
  others.push(operator);
  const read = async (path: string) => (await fetch(`${operator.origin}${path}`)).text();
  const metric = async (name: string) =>
    Number(
      (await read('/metrics'))
        .split('\n')
        .find((line) => line.startsWith(`countersign_upstream_${name}`))
        ?.split(' ')[1],
    );
  const readiness = async () => JSON.parse(await read('/readyz')).tenants.acme;
  const endpoint = `endpoint="${upstream.origin}"`;
  expect(await metric(`breaker{${endpoint}}`)).toBe(0);
  await statuses(5, 'GET');
  expect(await metric(`breaker{${endpoint}}`)).toBe(2);
  expect(await metric(`breaker_transitions_total{${endpoint},to="open"}`)).toBe(1);
  expect(await metric(`retries_total{${endpoint},result="sent"}`)).toBe(5);
  expect(await readiness()).toMatchObject({ status: 'ready', upstream: 'up', breaker: 'open' });
  expect(JSON.parse(await read('/api/endpoints'))).toMatchObject({
    endpoints: [{ breaker: { state: 'open', opened: 1, since: new Date(now).toISOString() }, retries: { sent: 5 } }],
  });

  const held = Promise.withResolvers<void>();
  state.act = () => held.promise;
  now += SECOND;
  const trial = status();
  await upstream.waitUntil(() => upstream.requests.length === 11);
  expect(await metric(`breaker{${endpoint}}`)).toBe(1);
  expect(await readiness()).toMatchObject({ breaker: 'half-open' });
  held.resolve();
  expect(await trial).toBe(200);
  expect(await metric(`breaker{${endpoint}}`)).toBe(0);
  expect(await metric(`breaker_transitions_total{${endpoint},to="closed"}`)).toBe(1);
  expect(await readiness()).toMatchObject({ breaker: 'closed' });
});

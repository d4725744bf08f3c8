import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { signIn, startDemo } from '../kit/demo.ts';
import { FrontEnd, HOST, ORIGIN } from '../kit/front-end.ts';
import { startReloadingGateway } from '../kit/reloading-gateway.ts';
import { type RecordedRequest, type StrictUpstreamOptions, startStrictUpstream } from '../kit/strict-upstream.ts';

const UNLIMITED = { requests: 10_000_000, per: '1m' };

/** Two configurations of one tenant that differ in three things a request shows upstream: all of one, or all of the other. */
const SIDES = {
  a: { version: 'v4.20190315', keypair: { accessKey: 'AKIASIDEA', secretKey: 'secret-of-a' }, header: 'X-Side-A' },
  b: { version: 'v5.20200101', keypair: { accessKey: 'AKIASIDEB', secretKey: 'secret-of-b' }, header: 'X-Side-B' },
} as const;
type Side = keyof typeof SIDES;

function configOf(endpoint: string, tenants: Readonly<Record<string, { origin: string; side: Side }>>): object {
  const entries = Object.entries(tenants).map(([name, { origin, side }]) => [
    name,
    {
      origins: [origin],
      upstream: { endpoints: [endpoint], version: SIDES[side].version, passHeaders: [SIDES[side].header] },
      keypairs: { visitor: SIDES[side].keypair },
      login: { visitor: { role: 'visitor' } },
      routes: [{ path: '/v2', roles: ['visitor'] }],
    },
  ]);
  return {
    listen: { port: 0 },
    limits: { address: UNLIMITED, session: UNLIMITED, sessionCreation: UNLIMITED },
    drain: '50ms',
    tenants: Object.fromEntries(entries),
  };
}

/** The sides a request that reached the upstream shows, in version, access key and passed headers. */
function sidesOf({ rawHeaders, verdict }: RecordedRequest): string {
  const value = (name: string) => rawHeaders.find(([field]) => field.toLowerCase() === name)?.[1].trim();
  const sideWhere = (holds: (side: (typeof SIDES)[Side]) => boolean) =>
    Object.entries(SIDES)
      .filter(([, side]) => holds(side))
      .map(([name]) => name)
      .join('');
  return [
    sideWhere((side) => value('x-service-version') === side.version),
    sideWhere((side) => verdict.accessKey === side.keypair.accessKey),
    sideWhere((side) => value(side.header.toLowerCase()) !== undefined),
  ].join(' ');
}

const BOTH_HEADERS = Object.values(SIDES).map(({ header }) => [header, '1'] as const);

async function start(respond?: StrictUpstreamOptions['respond']) {
  const upstream = await startStrictUpstream({
    keypairs: Object.fromEntries(Object.values(SIDES).map(({ keypair }) => [keypair.accessKey, keypair.secretKey])),
    ...(respond && { respond }),
  });
  onTestFinished(() => upstream.close());
  const config = (side: Side) => configOf(upstream.origin, { acme: { origin: ORIGIN, side } });
  const gateway = await startReloadingGateway(config('a'));
  onTestFinished(() => gateway.close());
  return { upstream, gateway, config };
}

it('a storm of 50 reloads under load loses no request, and each request is of one snapshot from head to body', async () => {
  // Some answers are held for a turn of the event loop and sent in pieces, so that reloads fall into every stage of a request.
  const { upstream, gateway, config } = await start(async (request, answer) => {
    if (!request.target.endsWith('0')) {
      return answer.json(200, { target: request.target, received: request.payload.length });
    }
    await new Promise((resolve) => setImmediate(resolve));
    const chunks = await answer.chunked(200, [['Content-Type', 'application/json']]);
    await chunks.chunk(`{"target":"${request.target}",`);
    await new Promise((resolve) => setImmediate(resolve));
    await chunks.chunk(`"received":${request.payload.length}}`);
    await chunks.end();
  });
  let storming = true;
  let sent = 0;
  const answers: { target: string; received: number; status: number; complete: boolean; json: unknown }[] = [];
  const nextReload = () =>
    new Promise<void>((resolve) => {
      const stop = gateway.config.onReload(() => {
        stop();
        resolve();
      });
    });
  /** Pages that are slow send the last byte of a body only after another reload. */
  const page = async (name: number, isSlow: boolean) => {
    const visitor = await FrontEnd.signIn(gateway.port);
    const connection = await visitor.connect();
    for (let i = 0; storming; i++) {
      const target = `/v2/page/${name}/${i}`;
      const body = i % 2 === 0 ? undefined : JSON.stringify({ filler: 'x'.repeat((i * 97) % 5000) });
      sent++;
      const method = body === undefined ? 'GET' : 'POST';
      const bytes = visitor.bytes(method, target, { headers: BOTH_HEADERS, body });
      connection.send(bytes.subarray(0, -1));
      if (isSlow && body !== undefined) await nextReload();
      const response = await connection.send(bytes.subarray(-1)).response(method);
      if (response === undefined) throw new Error(`${target}: the connection ended without a response`);
      const { status, complete } = response;
      answers.push({ target, received: Buffer.byteLength(body ?? ''), status, complete, json: response.json() });
    }
    connection.destroy();
  };
  const pages = Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((name) => page(name, name < 3)));
  const reloads = [];
  for (let i = 0; i < 50; i++) {
    reloads.push(await gateway.write(config(i % 2 === 0 ? 'b' : 'a')));
    const enough = upstream.requests.length + 20;
    await upstream.waitUntil(() => upstream.requests.length >= enough);
  }
  storming = false;
  // The last slow bodies wait for one more.
  await gateway.config.reload('end');
  await pages;

  expect(reloads.filter(({ ok }) => ok)).toHaveLength(50);
  expect(sent).toBeGreaterThanOrEqual(1000);
  expect(answers).toHaveLength(sent);
  const wrong = answers.filter(
    ({ target, received, status, complete, json }) =>
      status !== 200 || !complete || JSON.stringify(json) !== JSON.stringify({ target, received }),
  );
  expect(wrong).toEqual([]);
  expect(upstream.requests).toHaveLength(sent);
  expect(upstream.violations).toEqual([]);
  const sides = new Set(upstream.requests.map(sidesOf));
  expect([...sides].sort()).toEqual(['a a a', 'b b b']);
  expect(new Set(answers.map(({ target }) => target)).size).toBe(sent);
});

it('a request whose body comes after the swap is still of the snapshot that took in its head', async () => {
  const { upstream, gateway, config } = await start();
  const visitor = await FrontEnd.signIn(gateway.port);
  const connection = await visitor.connect();
  const bytes = visitor.bytes('POST', '/v2/slow', {
    headers: [...BOTH_HEADERS, ['Expect', '100-continue']],
    body: '{}',
  });
  connection.send(bytes.subarray(0, -2));
  // The interim answer says that the head has been judged.
  expect((await connection.head())?.status).toBe(100);
  expect((await gateway.write(config('b'))).ok).toBe(true);
  connection.send(bytes.subarray(-2));
  expect((await connection.response('POST'))?.status).toBe(200);
  connection.destroy();
  await visitor.fetch('GET', '/v2/next', { headers: BOTH_HEADERS });
  expect(upstream.requests.map(sidesOf)).toEqual(['a a a', 'b b b']);
});

it('a file with faults changes nothing for anybody', async () => {
  const { upstream, gateway } = await start();
  const visitor = await FrontEnd.signIn(gateway.port);
  expect((await gateway.write({ tenants: {} })).ok).toBe(false);
  expect((await visitor.fetch('GET', '/v2/x', { headers: BOTH_HEADERS })).status).toBe(200);
  expect(upstream.requests.map(sidesOf)).toEqual(['a a a']);
  expect(gateway.config.failures).toBe(1);
});

describe('a tenant that is taken out', () => {
  const OTHER = 'other.test';

  async function startWithTwo(respond?: StrictUpstreamOptions['respond']) {
    const { upstream, gateway } = await start(respond);
    const acme = { origin: ORIGIN, side: 'a' } as const;
    const both = configOf(upstream.origin, { acme, other: { origin: `http://${OTHER}`, side: 'b' } });
    await gateway.write(both);
    return { upstream, gateway, both, alone: configOf(upstream.origin, { acme }) };
  }

  it('finishes what is in flight, answers 421 to what is new, and leaves the others alone', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { upstream, gateway, both, alone } = await startWithTwo(async ({ target }) => {
      if (target === '/v2/held') await held;
    });
    const visitor = await FrontEnd.signIn(gateway.port, OTHER);
    const inFlight = visitor.fetch('GET', '/v2/held');
    await upstream.waitForRequest(({ target }) => target === '/v2/held');
    expect((await gateway.write(alone)).removed).toEqual(['other']);
    const refused = await visitor.fetch('GET', '/v2/new');
    expect([refused.status, refused.json()]).toEqual([
      421,
      expect.objectContaining({ type: expect.stringMatching(/\/unknown-tenant$/) }),
    ]);
    expect((await (await FrontEnd.signIn(gateway.port)).fetch('GET', '/v2/acme')).status).toBe(200);
    release();
    expect((await inFlight).status).toBe(200);

    // Its sessions were not thrown away: put back, it goes on where it was.
    await gateway.write(both);
    expect((await visitor.fetch('GET', '/v2/again')).status).toBe(200);
  });

  it('has its WebSockets and event streams closed after drain, and nobody else’s', async () => {
    const { gateway, alone } = await startWithTwo(async ({ target, rawHeaders }, answer) => {
      if (rawHeaders.some(([name]) => name.toLowerCase() === 'upgrade')) {
        await answer.webSocket();
      } else if (target === '/v2/events') {
        const stream = await answer.chunked(200, [['Content-Type', 'text/event-stream']]);
        await stream.chunk('data: 1\n\n');
        await answer.gone();
      }
    });
    const open = async (host: string) => {
      const visitor = await FrontEnd.signIn(gateway.port, host);
      const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/v2/socket`, {
        headers: { Host: host, Cookie: visitor.cookie, 'Sec-Fetch-Site': 'same-origin' },
      });
      await once(socket, 'open');
      return { visitor, socket };
    };
    const [kept, leaving] = [await open(HOST), await open(OTHER)];
    const events = leaving.visitor.fetch('GET', '/v2/events', { headers: [['Accept', 'text/event-stream']] });
    const closed = once(leaving.socket, 'close');
    await gateway.write(alone);
    await closed;
    expect((await events).complete).toBe(false);
    const pong = once(kept.socket, 'pong');
    kept.socket.ping();
    await pong;
    kept.socket.terminate();
  });
});

it('countersign serve reloads at SIGHUP and when its file changes; a bad file is logged and keeps the old one', async () => {
  const demo = await startDemo();
  onTestFinished(() => demo.stop());
  const cookie = await signIn(demo.origin);
  const problemType = async () => {
    const response = await fetch(`${demo.origin}/v2`);
    return ((await response.json()) as { type: string }).type;
  };
  demo.process.child.kill('SIGHUP');
  await demo.process.until(/"reason":"SIGHUP".*"configuration reloaded"/);

  const text = readFileSync(demo.file, 'utf8');
  writeFileSync(demo.file, text.replace('problemBase:', 'problemBsae:'));
  await demo.process.until(/configuration not reloaded/);
  expect(demo.process.stdout).toMatch(
    /"level":"error".*upstream\.problemBsae: unknown key \(did you mean \\"problemBase\\"\?\)/,
  );
  expect(await problemType()).toBe('https://problems.demo.example/unauthorized');

  writeFileSync(demo.file, text.replace('problems.demo.example', 'reloaded.example').replace(/port: \d+/, 'port: 1'));
  await demo.process.until(/"reason":"file changed".*"configuration reloaded"/);
  expect(await problemType()).toBe('https://reloaded.example/unauthorized');
  expect(demo.process.stdout).toMatch(/"level":"warn".*"path":"listen\.port".*needs a restart/);
  expect((await fetch(`${demo.origin}/v2`, { headers: { Cookie: cookie } })).status).toBe(200);
  expect(await demo.process.kill('SIGTERM')).toBe(0);
});

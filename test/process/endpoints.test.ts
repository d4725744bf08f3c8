import { expect, it, onTestFinished } from 'vitest';
import { FrontEnd, ORIGIN } from '../kit/front-end.ts';
import { KEYPAIR } from '../kit/gateway.ts';
import { startReloadingGateway } from '../kit/reloading-gateway.ts';
import { type StrictUpstream, type StrictUpstreamOptions, startStrictUpstream } from '../kit/strict-upstream.ts';

const OTHER_HOST = 'other.test';
const UNLIMITED = { requests: 10_000_000, per: '1m' };

/** `others`: endpoints of a second tenant, on `OTHER_HOST`. */
function configOf(endpoints: readonly StrictUpstream[], settings: object = {}, others = endpoints): object {
  const tenant = (origin: string, upstreams: readonly StrictUpstream[]) => ({
    origins: [origin],
    upstream: { endpoints: upstreams.map((upstream) => upstream.origin), version: 'v4.20190315', ...settings },
    keypairs: { visitor: KEYPAIR },
    login: { visitor: { role: 'visitor' } },
    routes: [{ path: '/v2', roles: ['visitor'] }],
  });
  return {
    listen: { port: 0 },
    limits: { address: UNLIMITED, session: UNLIMITED, sessionCreation: UNLIMITED },
    tenants: { acme: tenant(ORIGIN, endpoints), other: tenant(`http://${OTHER_HOST}`, others) },
  };
}

async function upstreamThat(respond: NonNullable<StrictUpstreamOptions['respond']> = () => undefined) {
  const upstream = await startStrictUpstream({ keypairs: { [KEYPAIR.accessKey]: KEYPAIR.secretKey }, respond });
  onTestFinished(() => upstream.close());
  return upstream;
}

async function start(config: object) {
  const gateway = await startReloadingGateway(config);
  onTestFinished(() => gateway.close());
  return { gateway, page: await FrontEnd.signIn(gateway.port) };
}

it('an endpoint that was taken out gets no new request, finishes those under way, and loses its connections', async () => {
  const held = Promise.withResolvers<void>();
  const old = await upstreamThat(async (request, answer) => {
    if (request.target !== '/v2/slow') return;
    const chunks = await answer.chunked(200, [['Content-Type', 'text/plain']]);
    await chunks.chunk('the first half, ');
    await held.promise;
    await chunks.chunk('the second');
    await chunks.end();
  });
  const fresh = await upstreamThat();
  const { gateway, page } = await start(configOf([old]));
  const slow = page.fetch('GET', '/v2/slow');
  await old.waitForRequest();
  await Promise.all(Array.from({ length: 10 }, (_, i) => page.fetch('GET', `/v2/${i}`)));
  expect(old.open).toBeGreaterThan(1);

  await gateway.write(configOf([fresh]));
  // Idle connections go by themselves; the one that is busy stays.
  await old.waitUntil(() => old.open === 1);
  const before = old.requests.length;
  for (let i = 0; i < 20; i++) expect((await page.fetch('GET', `/v2/${i}`)).status).toBe(200);
  expect(old.requests).toHaveLength(before);
  expect(fresh.requests).toHaveLength(20);

  held.resolve();
  const { complete, body } = await slow;
  expect([complete, body.toString()]).toEqual([true, 'the first half, the second']);
  await old.waitUntil(() => old.open === 0);
});

it('a request that began before still goes there, and its connection is closed behind it', async () => {
  const [used, old, fresh] = [await upstreamThat(), await upstreamThat(), await upstreamThat()];
  const { gateway, page } = await start(configOf([old], {}, [used]));
  const client = await page.connect();
  const bytes = page.bytes('POST', '/v2/begun', { headers: [['Expect', '100-continue']], body: '{}' });
  client.send(bytes.subarray(0, -2));
  expect((await client.head())?.status).toBe(100);
  await (await FrontEnd.signIn(gateway.port, OTHER_HOST)).fetch('GET', '/v2/x');
  expect(used.open).toBe(1);
  await gateway.write(configOf([fresh]));
  // The reload has been noticed.
  await used.waitUntil(() => used.open === 0);
  expect((await client.send(bytes.subarray(-2)).response('POST'))?.status).toBe(200);
  client.destroy();
  expect(old.requests).toHaveLength(1);
  await old.waitUntil(() => old.open === 0);
});

it('under load, with a reload every few requests, no request fails and nothing stays open', async () => {
  const upstreams = [await upstreamThat(), await upstreamThat(), await upstreamThat()];
  const [a, b, c] = upstreams as [StrictUpstream, StrictUpstream, StrictUpstream];
  const { gateway, page } = await start(configOf([a, b]));
  const total = () => upstreams.reduce((sum, { requests }) => sum + requests.length, 0);
  let loading = true;
  const visit = async (name: number) => {
    const client = await page.connect();
    const statuses = new Map<number, number>();
    for (let i = 0; loading; i++) {
      const { status } = await page.fetch(i % 2 === 0 ? 'GET' : 'POST', `/v2/${name}/${i}`, { body: '{}' }, client);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    client.destroy();
    return [...statuses.keys()];
  };
  const visits = Promise.all(Array.from({ length: 8 }, (_, name) => visit(name)));
  const rounds = [[b, c], [c], [a], [a, b, c], [b], [a, c]];
  for (let i = 0; i < 18; i++) {
    const settings = { timeouts: { connect: i % 2 === 0 ? '5s' : '6s' } };
    expect((await gateway.write(configOf(rounds[i % rounds.length] ?? [], settings))).ok).toBe(true);
    const enough = total() + 100;
    await Promise.race(upstreams.map((one) => one.waitUntil(() => total() >= enough)));
  }
  await gateway.write(configOf([c]));
  await Promise.all([a, b].map((one) => one.waitUntil(() => one.open === 0)));
  const before = a.requests.length + b.requests.length;
  const enough = c.requests.length + 200;
  await c.waitUntil(() => c.requests.length >= enough);
  expect(a.requests.length + b.requests.length).toBe(before);
  loading = false;
  expect(new Set((await visits).flat())).toEqual(new Set([200]));
  expect(upstreams.flatMap(({ violations }) => violations)).toEqual([]);
});

import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { type Demo, signIn, startDemo } from '../kit/demo.ts';
import { startRedis, type TestRedis } from '../kit/redis.ts';
import { mergeYaml } from '../kit/yaml.ts';

const REVOCATIONS = 1_000;
const UNREACHED = '{ requests: 10000000, per: 1m }';

let redis: TestRedis;
let gateways: Demo[];
beforeEach(async () => {
  redis = await startRedis();
  gateways = [];
});
afterEach(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await redis.stop();
});

/** A gateway process on the one Redis. */
async function serve(nearCache = '{}'): Promise<Demo> {
  const own = `
    sessions: { store: "${redis.url}", nearCache: ${nearCache} }
    limits: { address: ${UNREACHED}, session: ${UNREACHED}, sessionCreation: ${UNREACHED} }
    service: { rateLimit: ${UNREACHED} }
    operator: { port: 0 }`;
  const gateway = await startDemo((yaml) => mergeYaml(yaml, own));
  gateways.push(gateway);
  return gateway;
}

/** Asks for something that takes a session; gives the status. */
async function ask({ origin }: Demo, cookie: string): Promise<number> {
  const answer = await fetch(`${origin}/v2`, { headers: { Cookie: cookie } });
  await answer.arrayBuffer();
  return answer.status;
}

async function signOut({ origin }: Demo, cookie: string): Promise<void> {
  const headers = { Cookie: cookie, 'X-Countersign': '1' };
  expect((await fetch(`${origin}/-/session`, { method: 'DELETE', headers })).status).toBe(204);
}

async function operatorSees({ process }: Demo, path: string): Promise<Response> {
  return fetch(`${/countersign for operators: (\S+)/.exec(process.stderr)?.[1]}${path}`);
}

/** The samples of the near cache by name and labels. */
async function metricsOf(gateway: Demo): Promise<Record<string, number>> {
  const lines = (await (await operatorSees(gateway, '/metrics')).text()).split('\n');
  const samples = lines.map((line) => /^countersign_near_cache_(\S+) (\d+)$/.exec(line)).filter((match) => match);
  return Object.fromEntries(samples.map((match) => [match?.[1], Number(match?.[2])]));
}

const isUp = (gateway: Demo) => expect.poll(async () => (await metricsOf(gateway))['up'], { timeout: 10_000 }).toBe(1);

it('revoked on one gateway is refused on the other, soon and for good', { timeout: 120_000 }, async ({ annotate }) => {
  const [here, there] = await Promise.all([serve(), serve()]);
  await Promise.all([isUp(here), isUp(there)]);
  const waits: number[] = [];
  for (let i = 0; i < REVOCATIONS; i++) {
    const cookie = await signIn(here.origin);
    for (let j = 0; j < 2; j++) expect(await ask(there, cookie)).toBe(200);
    // From before the revocation is sent to the answer that refuses: more than the time that counts.
    const since = performance.now();
    const signedOut = signOut(here, cookie);
    while ((await ask(there, cookie)) === 200) expect(performance.now() - since).toBeLessThan(5_000);
    waits.push(performance.now() - since);
    await signedOut;
    expect([await ask(there, cookie), await ask(here, cookie)]).toEqual([401, 401]);
  }
  const sorted = waits.toSorted((a, b) => a - b);
  const [median = Number.NaN, p99 = Number.NaN] = [sorted[REVOCATIONS / 2], sorted[REVOCATIONS * 0.99]];
  await annotate(`${REVOCATIONS} revocations: median ${median.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`);
  expect(median).toBeLessThanOrEqual(50);
  // It was the near cache that had to forget them.
  expect((await metricsOf(there))['reads_total{result="hit"}']).toBeGreaterThanOrEqual(REVOCATIONS);
});

it('the operator sees how much it spares, that it is bypassed, and that it is back', async () => {
  const gateway = await serve();
  await isUp(gateway);
  const cookie = await signIn(gateway.origin);
  for (let i = 0; i < 10; i++) expect(await ask(gateway, cookie)).toBe(200);
  expect(await metricsOf(gateway)).toEqual({
    up: 1,
    entries: 1,
    'reads_total{result="hit"}': 9,
    'reads_total{result="miss"}': 1,
  });
  const status = async () =>
    ((await (await operatorSees(gateway, '/api/status')).json()) as { sessions: object }).sessions;
  expect(await status()).toMatchObject({ nearCache: { up: true, entries: 1, hits: 9, misses: 1 } });

  const admin = new Redis(redis.url);
  onTestFinished(() => admin.disconnect());
  await admin.acl('SETUSER', 'default', '-client|tracking');
  for (const line of String(await admin.client('LIST')).split('\n')) {
    const id = /^id=(\d+) .* name=countersign-invalidations /.exec(line)?.[1];
    if (id !== undefined) await admin.client('KILL', 'ID', id);
  }
  await gateway.process.until(/"level":"warn".*"msg":"the near cache is bypassed: each request asks Redis"/);
  expect(await metricsOf(gateway)).toMatchObject({ up: 0, entries: 0 });
  expect((await operatorSees(gateway, '/readyz')).status).toBe(200);
  expect(await ask(gateway, cookie)).toBe(200);
  await admin.acl('SETUSER', 'default', '+client|tracking');
  await isUp(gateway);
});

it('is not there when it is turned off: no metrics, no connection', async () => {
  const gateway = await serve('{ entries: 0 }');
  const cookie = await signIn(gateway.origin);
  for (let i = 0; i < 3; i++) expect(await ask(gateway, cookie)).toBe(200);
  expect(await metricsOf(gateway)).toEqual({});
  const admin = new Redis(redis.url);
  onTestFinished(() => admin.disconnect());
  expect(await admin.client('LIST')).not.toContain('countersign-invalidations');
});

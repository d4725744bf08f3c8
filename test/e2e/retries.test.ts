import { afterEach, expect, it } from 'vitest';
import { FrontEnd } from '../kit/front-end.ts';
import { type StartOptions, startGateway, type TestGateway } from '../kit/gateway.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

/** A breaker that stays out of the way. */
const NEVER = { failures: 1_000_000, ratio: 1, volume: 1_000_000 };

let upstream: StrictUpstream;
let gateway: TestGateway;
let page: FrontEnd;

async function start(options: StartOptions): Promise<void> {
  ({ upstream, gateway } = await startGateway(options));
  page = await FrontEnd.signIn(gateway.port);
}

afterEach(async () => {
  await gateway.close();
  await upstream.close();
});

async function ask(count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < count; i++) statuses.push((await page.fetch('GET', `/v2/${i}`)).status);
  return statuses;
}

it('each attempt has a date and a signature of its own', async () => {
  let now = Date.now();
  // A second passes with each request that arrives.
  const respond: StartOptions['respond'] = (_, answer) => {
    now += 1000;
    if (upstream.requests.length === 1) answer.reset();
  };
  await start({ clock: () => now, respond });
  expect(await ask(1)).toEqual([200]);
  const said = (pattern: RegExp) => new Set(upstream.heads.map(({ text }) => pattern.exec(text)?.[1]));
  expect(upstream.requests.map(({ verdict }) => verdict.why)).toEqual(['verified', 'verified']);
  expect(said(/^date: (\d{8}T\d{6}Z)/im).size).toBe(2);
  expect(said(/^authorization: (.*)/im).size).toBe(2);
});

it('an upstream that breaks every connection gets a fifth more than was asked for, not twice as much', async () => {
  const now = Date.now();
  await start({
    clock: () => now,
    respond: (_, answer) => answer.reset(),
    upstream: { breaker: NEVER, retries: { ratio: 0.2, minimum: 0 } },
  });
  expect(await ask(100)).toEqual(Array(100).fill(502));
  expect(upstream.requests.length).toBe(120);
});

it('a request now and then is sent again however few there are, until the budget is used up', async () => {
  let now = Date.now();
  await start({
    clock: () => now,
    respond: (_, answer) => answer.reset(),
    upstream: { breaker: NEVER, retries: { ratio: 0, minimum: 3 } },
  });
  await ask(10);
  expect(upstream.requests.length).toBe(13);
  now += 20_000;
  await ask(10);
  expect(upstream.requests.length).toBe(26);
});

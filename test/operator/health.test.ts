import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStore } from '../../src/session/open-store.ts';
import { freePort } from '../kit/free-port.ts';
import { FrontEnd } from '../kit/front-end.ts';
import { startGateway, type TestGateway } from '../kit/gateway.ts';
import { startOperator, type TestOperator } from '../kit/operator.ts';
import { startRedis } from '../kit/redis.ts';
import { type StrictUpstream, startStrictUpstream } from '../kit/strict-upstream.ts';

let upstream: StrictUpstream;
let gateway: TestGateway;
let operator: TestOperator;
afterEach(async () => {
  await operator?.close();
  await gateway?.close();
  await upstream?.close();
});

async function readyz(): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(`${operator.origin}/readyz`);
  return { status: answer.status, body: await answer.json() };
}

describe('with everything well', () => {
  beforeEach(async () => {
    ({ upstream, gateway } = await startGateway());
    operator = await startOperator(gateway.watched);
  });

  it('is ready, before any request has been made', async () => {
    expect(await readyz()).toEqual({
      status: 200,
      body: {
        status: 'ready',
        checks: { process: 'ready', sessionStore: 'up', configuration: 'ok', upstreams: 'up' },
        tenants: { acme: { status: 'ready', upstream: 'up', breaker: 'closed', clock: 'ok' } },
      },
    });
  });

  it.each(['starting', 'draining'] as const)('is not ready while %s', async (phase) => {
    operator.phase = phase;
    expect(await readyz()).toMatchObject({
      status: 503,
      body: { status: 'not-ready', checks: { process: phase, sessionStore: 'up', upstreams: 'up' } },
    });
    expect((await fetch(`${operator.origin}/livez`)).status).toBe(200);
  });

  it('is not ready when no upstream can be reached, and says that it is they', async () => {
    await upstream.close();
    expect(await readyz()).toMatchObject({
      status: 503,
      body: {
        checks: { process: 'ready', sessionStore: 'up', upstreams: 'down' },
        tenants: { acme: { status: 'not-ready', upstream: 'down' } },
      },
    });
  });

  it('does not believe in an endpoint that has just failed because it answered before', async () => {
    const page = await FrontEnd.signIn(gateway.port);
    expect((await page.fetch('GET', '/v2')).status).toBe(200);
    expect((await readyz()).status).toBe(200);
    await upstream.close();
    expect((await page.fetch('GET', '/v2')).status).toBe(502);
    expect((await readyz()).status).toBe(503);
  });
});

it('one endpoint of two is enough', async () => {
  const alive = await startStrictUpstream({ keypairs: {} });
  const endpoints = [`http://127.0.0.1:${await freePort()}`, alive.origin];
  ({ upstream, gateway } = await startGateway({ upstream: { endpoints } }));
  operator = await startOperator(gateway.watched);
  expect(await readyz()).toMatchObject({ status: 200, body: { tenants: { acme: { upstream: 'up' } } } });
  await alive.close();
});

it('tells Redis from the rest: not ready while it hangs or is gone, ready again with it', async () => {
  const redis = await startRedis();
  const store = openStore(redis.url, { clock: Date.now, sealKeys: [], onError: () => undefined });
  try {
    ({ upstream, gateway } = await startGateway());
    operator = await startOperator(gateway.watched, { store });
    const status = async () => (await readyz()).status;
    await expect.poll(status, { timeout: 10_000 }).toBe(200);
    redis.pause();
    await expect.poll(status, { timeout: 10_000 }).toBe(503);
    expect(await readyz()).toMatchObject({
      body: {
        checks: { process: 'ready', sessionStore: 'down', upstreams: 'up' },
        tenants: { acme: { upstream: 'up' } },
      },
    });
    redis.resume();
    await expect.poll(status, { timeout: 10_000 }).toBe(200);
    await redis.kill();
    await expect.poll(status, { timeout: 10_000 }).toBe(503);
  } finally {
    await store.close();
    await redis.stop();
  }
});

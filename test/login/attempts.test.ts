import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type AttemptLimits, DEFAULT_LIMITS, type FailedAttempts } from '../../src/login/attempts.ts';
import { openAttempts } from '../../src/login/open-attempts.ts';
import { startRedis, type TestRedis } from '../kit/redis.ts';

const ALICE = { tenant: 'acme', user: 'alice', client: '192.0.2.7' };
const TOO_MANY = { code: 'too-many-attempts', status: 429 };

let redis: TestRedis;
let admin: Redis;
beforeAll(async () => {
  redis = await startRedis();
  admin = new Redis(redis.url);
});
beforeEach(() => admin.flushall());
afterAll(async () => {
  admin.disconnect();
  await redis.stop();
});

/** Opens a counter; on Redis, waits until it answers. */
async function open(storeUrl: string, limits?: AttemptLimits): Promise<FailedAttempts> {
  const attempts = openAttempts(storeUrl, limits ? { limits } : {});
  onTestFinished(() => attempts.close());
  await expect
    .poll(() => attempts.reserve({ ...ALICE, client: '198.51.100.1' }).then((it) => it.cancel()), { interval: 5 })
    .toBeUndefined();
  return attempts;
}

describe.each(['memory', 'redis'])('failed attempts counted in %s', (where) => {
  const url = () => (where === 'memory' ? 'memory' : redis.url);

  it('allows five per user and network in a quarter of an hour, then says when to come back', async () => {
    const attempts = await open(url());
    for (let i = 0; i < 5; i++) await attempts.reserve(ALICE);
    const refusal: unknown = await attempts.reserve(ALICE).catch((thrown) => thrown);
    expect(refusal).toMatchObject(TOO_MANY);
    const retryAfter = Number((refusal as { headers: Record<string, string> }).headers['Retry-After']);
    expect(retryAfter).toBeGreaterThan(15 * 60 - 30);
    expect(retryAfter).toBeLessThanOrEqual(15 * 60);
  });

  it('counts parallel attempts before they are decided (attack: fifty guesses at once)', async () => {
    const attempts = await open(url());
    const results = await Promise.allSettled(Array.from({ length: 50 }, () => attempts.reserve(ALICE)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
  });

  it('does not lock the user out from elsewhere (attack: locking others out)', async () => {
    const attempts = await open(url());
    await Promise.allSettled(Array.from({ length: 9 }, () => attempts.reserve(ALICE)));
    await expect(attempts.reserve({ ...ALICE, client: '192.0.2.8' })).resolves.toBeDefined();
    await expect(attempts.reserve({ ...ALICE, tenant: 'other' })).resolves.toBeDefined();
    await expect(attempts.reserve({ ...ALICE, user: 'bob' })).resolves.toBeDefined();
  });

  it('takes a whole /64 for one client (attack: a fresh IPv6 address per guess)', async () => {
    const attempts = await open(url());
    for (let i = 1; i <= 5; i++) await attempts.reserve({ ...ALICE, client: `2001:db8::${i}` });
    await expect(attempts.reserve({ ...ALICE, client: '2001:db8::ffff' })).rejects.toMatchObject(TOO_MANY);
    await expect(attempts.reserve({ ...ALICE, client: '2001:db8:0:1::1' })).resolves.toBeDefined();
  });

  it('counts a network over all names (attack: one password against many users)', async () => {
    const attempts = await open(url());
    for (let i = 0; i < 50; i++) await attempts.reserve({ ...ALICE, user: `user-${i}` });
    await expect(attempts.reserve({ ...ALICE, user: 'user-50' })).rejects.toMatchObject(TOO_MANY);
    await expect(attempts.reserve({ ...ALICE, client: '192.0.2.8' })).resolves.toBeDefined();
  });

  it('forgets the failures of a user who got in, but not those of the network', async () => {
    const attempts = await open(url(), { ...DEFAULT_LIMITS, perAddress: 8 });
    for (let i = 0; i < 4; i++) await attempts.reserve(ALICE);
    await (await attempts.reserve(ALICE)).succeeded();
    // Four failures of the network are left to count; the success was none.
    for (let i = 0; i < 4; i++) await attempts.reserve(ALICE);
    await expect(attempts.reserve({ ...ALICE, user: 'bob' })).rejects.toMatchObject(TOO_MANY);
  });

  it('does not count what was cancelled, nor refusals against the rest of the network', async () => {
    const attempts = await open(url(), { ...DEFAULT_LIMITS, perAddress: 8 });
    for (let i = 0; i < 20; i++) await (await attempts.reserve(ALICE)).cancel();
    for (let i = 0; i < 5; i++) await attempts.reserve(ALICE);
    for (let i = 0; i < 20; i++) await expect(attempts.reserve(ALICE)).rejects.toMatchObject(TOO_MANY);
    for (let i = 0; i < 3; i++) await attempts.reserve({ ...ALICE, user: 'bob' });
    await expect(attempts.reserve({ ...ALICE, user: 'bob' })).rejects.toMatchObject(TOO_MANY);
  });
});

describe('failed attempts on Redis', () => {
  it('are shared by all processes', async () => {
    const [here, there] = [await open(redis.url), await open(redis.url)];
    for (let i = 0; i < 5; i++) await (i % 2 ? here : there).reserve(ALICE);
    await expect(here.reserve(ALICE)).rejects.toMatchObject(TOO_MANY);
    await expect(there.reserve(ALICE)).rejects.toMatchObject(TOO_MANY);
  });

  it('leave no name in a key, and no key for ever', async () => {
    const attempts = await open(redis.url, { ...DEFAULT_LIMITS, window: 100 });
    await attempts.reserve({ ...ALICE, user: 'my-password-by-mistake' });
    const keys = await admin.keys('*');
    expect(keys.length).toBeGreaterThan(0);
    expect(keys.join()).not.toMatch(/my-password|192\.0\.2/);
    for (const key of keys) expect(await admin.pttl(key), key).toBeGreaterThan(0);
  });

  it('fail closed: no attempt is allowed that cannot be counted', async () => {
    const mortal = await startRedis();
    onTestFinished(() => mortal.stop());
    const attempts = await open(mortal.url);
    const inFlight = await attempts.reserve(ALICE);
    await mortal.kill();
    await expect(attempts.reserve(ALICE)).rejects.toMatchObject({
      code: 'session-store-unavailable',
      status: 503,
      headers: { 'Retry-After': '1' },
    });
    await expect(inFlight.succeeded()).resolves.toBeUndefined();
    await expect(inFlight.cancel()).resolves.toBeUndefined();
    await mortal.restart();
    await expect.poll(() => attempts.reserve(ALICE).then(() => 'counted'), { timeout: 10_000 }).toBe('counted');
  });
});

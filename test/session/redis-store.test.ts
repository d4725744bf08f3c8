import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { createRedisStore, type RedisStoreOptions } from '../../src/session/redis-store.ts';
import { createSeal } from '../../src/session/seal.ts';
import type { SessionStore } from '../../src/session/store.ts';
import { startRedis, type TestRedis } from '../kit/redis.ts';
import { openLine } from '../kit/tcp-line.ts';
import { handClock, MINUTE, newSession } from './fixture.ts';
import { age, isReady } from './redis-fixture.ts';
import { storeContract } from './store-contract.ts';

const UNAVAILABLE = { code: 'session-store-unavailable', status: 503, headers: { 'Retry-After': '1' } };

let redis: TestRedis;
/** The test's own eyes and hands in the database. */
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

async function open(options: Partial<RedisStoreOptions> = {}): Promise<SessionStore> {
  const store = createRedisStore({ url: redis.url, clock: handClock().clock, ...options });
  onTestFinished(() => store.close());
  await isReady(store);
  return store;
}

for (const [name, nearCache] of [
  ['Redis', undefined],
  ['Redis with a near cache', { entries: 100, maxAge: 30_000 }],
] as const) {
  storeContract(name, async () => {
    const { clock, forward } = handClock();
    const store = createRedisStore({ url: redis.url, clock, nearCache });
    await isReady(store);
    return {
      store,
      async advance(milliseconds) {
        forward(milliseconds);
        await age(admin, milliseconds);
      },
    };
  });
}

describe('two processes on one Redis', () => {
  it('share sessions, and one hears of those that the other ends', async () => {
    const [here, there] = [await open(), await open()];
    const session = newSession();
    await here.create(session);
    expect(await there.get(session.key)).toEqual(session);
    const heard = new Promise<string>((resolve) => there.onEnded(resolve));
    await here.end(session.key);
    expect(await heard).toBe(session.key);
    expect(await there.get(session.key)).toBeUndefined();
  });

  it('catch up on sessions ended while they were cut off', async () => {
    const line = await openLine(redis.port);
    onTestFinished(() => line.close());
    const [here, there] = [await open(), await open({ url: `redis://127.0.0.1:${line.port}` })];
    const session = newSession();
    await here.create(session);
    const heard = new Promise<string>((resolve) => there.onEnded(resolve));
    line.cut();
    await vi.waitFor(() => expect(there.ready).toBe(false), { interval: 5 });
    await here.end(session.key);
    line.mend();
    expect(await heard).toBe(session.key);
    await isReady(there);
  });
});

describe('what is left in Redis', () => {
  it('expires by itself, indexes included, with the longest session', async () => {
    const store = await open();
    const brief = { lifetime: { idle: MINUTE, absolute: 5 * MINUTE } };
    for (const session of [newSession(brief), newSession(), newSession(brief)]) await store.create(session);
    const keys = await admin.keys('*');
    expect(keys).toHaveLength(5);
    for (const key of keys) {
      const left = await admin.pttl(key);
      expect(left, key).toBeGreaterThan(0);
      expect(left, key).toBeLessThanOrEqual(120 * MINUTE);
      if (key.includes('sessions:')) expect(left, key).toBeGreaterThan(119 * MINUTE);
    }
  });

  it('does not grow with sessions that nobody lists: each login clears out the expired', async () => {
    const { clock, forward } = handClock();
    const store = await open({ clock });
    for (let i = 0; i < 10; i++) await store.create(newSession());
    forward(121 * MINUTE);
    const createdAt = clock();
    await store.create(newSession({ createdAt, seenAt: createdAt }));
    expect(await admin.zcard('countersign:sessions:acme')).toBe(1);
  });

  it('keeps owners apart whatever their names look like', async () => {
    const store = await open();
    await store.create(newSession());
    const [index = ''] = (await admin.keys('countersign:sessions:acme:*')).map((key) =>
      key.split(':').slice(2).join(':'),
    );
    await store.create(newSession({ tenant: index, subject: undefined }));
    expect(await store.list({ tenant: 'acme', subject: 'alice' })).toHaveLength(1);
    expect(await store.list({ tenant: index })).toHaveLength(1);
  });

  it('still tells of a session that idled out, so that ending all reaches a stream it left open', async () => {
    const store = await open();
    const session = newSession();
    await store.create(session);
    await admin.del(`countersign:session:${session.key}`);
    const heard = vi.fn();
    store.onEnded(heard);
    expect(await store.endAll({ tenant: 'acme', subject: 'alice' })).toBe(0);
    expect(heard).toHaveBeenCalledWith(session.key);
    expect(await admin.keys('countersign:sessions:acme:*')).toEqual([]);
  });

  it('shows no user name when records are sealed', async () => {
    const store = await open({ seal: createSeal([newKey()]) });
    const session = newSession({ subject: 'alice-in-the-clear', roles: ['role-in-the-clear'] });
    await store.create(session);
    expect(await store.get(session.key)).toEqual(session);
    const keys = await admin.keys('*');
    const record = await admin.get(`countersign:session:${session.key}`);
    expect(`${keys.join()} ${record}`).not.toContain('in-the-clear');
  });

  it('is no session when it does not parse, and can be ended', async () => {
    const store = await open();
    const session = newSession();
    await store.create(session);
    await admin.set(`countersign:session:${session.key}`, '{"version":1,"tenant":"acme","roles":"admin"}');
    expect(await store.get(session.key)).toBeUndefined();
    expect(await store.list({ tenant: 'acme' })).toEqual([]);
    expect(await store.end(session.key)).toBe(true);
  });

  it('is no session when somebody with access to Redis wrote, copied or unsealed it (attack)', async () => {
    const sealed = await open({ seal: createSeal([newKey()]) });
    const plain = await open();
    const forged = newSession({ roles: ['admin'] });
    await plain.create(forged);
    expect(await sealed.get(forged.key)).toBeUndefined();

    const [victim, attacker] = [newSession({ roles: ['admin'] }), newSession()];
    await sealed.create(victim);
    await sealed.create(attacker);
    await admin.copy(`countersign:session:${victim.key}`, `countersign:session:${attacker.key}`, 'REPLACE');
    expect(await sealed.get(attacker.key)).toBeUndefined();
    expect(await plain.get(victim.key)).toBeUndefined();
  });
});

describe.each([
  ['without', undefined],
  ['with', { entries: 100, maxAge: 30_000 }],
])('Redis gone, %s a near cache', (_with, nearCache) => {
  let mortal: TestRedis;
  beforeEach(async () => {
    mortal = await startRedis();
  });
  afterEach(() => mortal.stop());

  const ask = async (store: SessionStore, { key }: { key: string }) => store.get(key);

  /** Every kind of call, each of which must fail in about a second. */
  function everyCall(store: SessionStore): Promise<unknown>[] {
    const session = newSession();
    return [
      Promise.resolve(store.get(session.key)),
      store.create(session),
      store.touch(session, session.seenAt),
      store.end(session.key),
      store.list({ tenant: 'acme' }),
      store.endAll({ tenant: 'acme', subject: 'alice' }),
    ];
  }

  async function expectRefusals(store: SessionStore): Promise<void> {
    const started = performance.now();
    const results = await Promise.allSettled(everyCall(store));
    expect(performance.now() - started).toBeLessThan(2_000);
    for (const result of results) {
      expect(result).toMatchObject({ status: 'rejected', reason: UNAVAILABLE });
    }
  }

  /** Once it is known to be gone nobody waits, and nothing is kept to be done later. */
  async function expectRefusalsAtOnce(store: SessionStore): Promise<void> {
    const started = performance.now();
    for (let i = 0; i < 20; i++) await expect(store.get('key')).rejects.toMatchObject(UNAVAILABLE);
    expect(performance.now() - started).toBeLessThan(500);
  }

  it('killed: refuses every call, says so, and recovers by itself; each outage is reported once', async () => {
    const onError = vi.fn();
    const store = await open({ url: mortal.url, nearCache, onError });
    const session = newSession();
    for (const outage of [1, 2]) {
      await mortal.kill();
      await expectRefusals(store);
      await vi.waitFor(() => expect(store.ready).toBe(false), { interval: 5 });
      await expectRefusalsAtOnce(store);
      await mortal.restart();
      await isReady(store);
      expect(onError).toHaveBeenCalledTimes(outage);
      await store.create(session);
      expect(await store.get(session.key)).toEqual(session);
    }
  });

  it('killed under load: every call is answered, none with "no such session"', async () => {
    const store = await open({ url: mortal.url, nearCache });
    const session = newSession();
    await store.create(session);
    const calls = Array.from({ length: 500 }, () => Promise.resolve(store.get(session.key)));
    const killed = mortal.kill();
    const results = await Promise.allSettled(calls);
    await killed;
    for (const result of results) {
      if (result.status === 'fulfilled') expect(result.value).toEqual(session);
      else expect(result.reason).toMatchObject(UNAVAILABLE);
    }
    await vi.waitFor(() => expect(ask(store, session)).rejects.toMatchObject(UNAVAILABLE), { interval: 5 });
  });

  it('down at the start: not ready, refuses, then comes up', async () => {
    await mortal.kill();
    const onError = vi.fn();
    const store = createRedisStore({ url: mortal.url, nearCache, clock: handClock().clock, onError });
    onTestFinished(() => store.close());
    expect(store.ready).toBe(false);
    await expectRefusals(store);
    await mortal.restart();
    await isReady(store);
    const session = newSession();
    await store.create(session);
    expect(await store.get(session.key)).toEqual(session);
    expect(onError).toHaveBeenCalledTimes(1);
  });

  it('hung with its connections open: refuses in time, notices without being asked, recovers with its data', async () => {
    const onError = vi.fn();
    const store = await open({ url: mortal.url, nearCache, onError });
    const session = newSession();
    await store.create(session);
    mortal.pause();
    await expectRefusals(store);
    await vi.waitFor(() => expect(store.ready).toBe(false), { timeout: 5_000, interval: 5 });
    await expectRefusals(store);
    mortal.resume();
    await isReady(store);
    expect(await store.get(session.key)).toEqual(session);
    expect(onError).toHaveBeenCalledTimes(1);
  });

  it('closes while Redis hangs', async () => {
    const store = await open({ url: mortal.url, nearCache });
    mortal.pause();
    await expect(store.close()).resolves.toBeUndefined();
  });
});

describe('a Redis with a password', () => {
  it('lets in with the right one and shows the wrong one to nobody', async () => {
    const guarded = await startRedis(['--requirepass', 'the-right-one']);
    onTestFinished(() => guarded.stop());
    const store = await open({ url: `redis://:the-right-one@127.0.0.1:${guarded.port}/3` });
    const session = newSession();
    await store.create(session);
    expect(await store.get(session.key)).toEqual(session);

    const error = await new Promise<Error>((resolve) => {
      const url = `redis://:the-wrong-one@127.0.0.1:${guarded.port}`;
      const locked = createRedisStore({ url, clock: handClock().clock, onError: resolve });
      onTestFinished(() => locked.close());
    });
    expect(error.message).toContain('WRONGPASS');
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('the-wrong-one');
  });

  it('does not put a record into the error of a command that failed', async () => {
    const store = await open();
    await admin.config('SET', 'maxmemory', '1');
    onTestFinished(async () => void (await admin.config('SET', 'maxmemory', '0')));
    const thrown: unknown = await store.create(newSession({ subject: 'alice-in-the-clear' })).catch((error) => error);
    expect(thrown).toMatchObject(UNAVAILABLE);
    expect(inspect(thrown, { depth: 9, showHidden: true })).not.toContain('in-the-clear');
  });
});

function newKey(): Secret {
  return new Secret(Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64'));
}

import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createMemoryStore } from '../../src/session/memory-store.ts';
import { createRedisStore } from '../../src/session/redis-store.ts';
import { type SessionIdentity, Sessions, sessionKey } from '../../src/session/sessions.ts';
import type { SessionStore } from '../../src/session/store.ts';
import { startRedis, type TestRedis } from '../kit/redis.ts';
import { handClock, MINUTE, START } from './fixture.ts';

const ALICE: SessionIdentity = {
  tenant: 'acme',
  subject: 'alice',
  roles: ['user'],
  method: 'password',
  lifetime: { idle: 30 * MINUTE, absolute: 120 * MINUTE },
};

describe('Sessions', () => {
  let store: SessionStore;
  let sessions: Sessions;
  let forward: (milliseconds: number) => void;

  beforeEach(() => {
    const hand = handClock();
    forward = hand.forward;
    store = createMemoryStore({ clock: hand.clock, capacity: 100 });
    sessions = new Sessions({ store, clock: hand.clock });
  });

  it('opens a session whose id is 256 random bits and is not kept anywhere', async () => {
    const { id, session } = await sessions.open(ALICE);
    expect(id).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect((await sessions.open(ALICE)).id).not.toBe(id);
    expect(JSON.stringify(session)).not.toContain(id);
    expect(sessions.resolve(id, 'acme')).toEqual(session);
    expect(session).toMatchObject({ key: sessionKey(id), tenant: 'acme', subject: 'alice', createdAt: START });
  });

  it('does not take the store key for an id (attack: a dump of the store opens no session)', async () => {
    const { session } = await sessions.open(ALICE);
    expect(sessions.resolve(session.key, 'acme')).toBeUndefined();
  });

  it('does not take another spelling of the same 256 bits (attack: a revoked id by its twin)', async () => {
    const { id } = await sessions.open(ALICE);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const last = alphabet.indexOf(id.slice(-1));
    const twin = id.slice(0, -1) + alphabet[last ^ 1];
    expect(Buffer.from(twin, 'base64url')).toEqual(Buffer.from(id, 'base64url'));
    expect(sessions.resolve(twin, 'acme')).toBeUndefined();
  });

  it("is no session on another tenant's origin (attack: a cookie carried over)", async () => {
    const { id } = await sessions.open(ALICE);
    expect(sessions.resolve(id, 'other')).toBeUndefined();
  });

  it('ends the old id at login (attack: session fixation)', async () => {
    const planted = await sessions.open({ ...ALICE, subject: undefined, roles: ['visitor'], method: 'visitor' });
    const { id } = await sessions.open(ALICE, planted.id);
    expect(id).not.toBe(planted.id);
    expect(sessions.resolve(planted.id, 'acme')).toBeUndefined();
    expect(sessions.resolve(id, 'acme')).toMatchObject({ subject: 'alice' });
  });

  it('gives an id of the own choosing no session after login (attack: session fixation)', async () => {
    const chosen = 'A'.repeat(43);
    const { id } = await sessions.open(ALICE, chosen);
    expect(id).not.toBe(chosen);
    expect(sessions.resolve(chosen, 'acme')).toBeUndefined();
  });

  it('writes the use of a busy session once a minute', async () => {
    const { id, session } = await sessions.open(ALICE);
    forward(MINUTE - 1);
    sessions.resolve(id, 'acme');
    expect(await store.get(session.key)).toMatchObject({ seenAt: START });
    forward(1);
    expect(sessions.resolve(id, 'acme')).toMatchObject({ seenAt: START + MINUTE });
    expect(await store.get(session.key)).toMatchObject({ seenAt: START + MINUTE });
  });

  it('writes a use once for the parallel requests of a page', async () => {
    const { id, session } = await sessions.open(ALICE);
    let written = 0;
    const counting = new Sessions({
      clock: () => START + MINUTE,
      store: {
        ...store,
        touch(session, seenAt) {
          written++;
          return store.touch(session, seenAt);
        },
      },
    });
    for (let i = 0; i < 20; i++) {
      expect(counting.resolve(id, 'acme')).toMatchObject({ key: session.key });
    }
    expect(written).toBe(1);
  });

  it('ends after the idle time without use, and after the absolute time in any case', async () => {
    const idle = await sessions.open(ALICE);
    const busy = await sessions.open(ALICE);
    for (let minutes = 20; minutes < 120; minutes += 20) {
      forward(20 * MINUTE);
      expect(await sessions.resolve(busy.id, 'acme')).toMatchObject({ key: busy.session.key });
    }
    expect(sessions.resolve(idle.id, 'acme')).toBeUndefined();
    forward(20 * MINUTE);
    expect(sessions.resolve(busy.id, 'acme')).toBeUndefined();
  });

  it('judges liveness itself, whatever a store still holds', async () => {
    const { id, session } = await sessions.open(ALICE);
    const hoarding: SessionStore = { ...store, get: () => session, list: async () => [session] };
    const late = new Sessions({ store: hoarding, clock: () => START + 31 * MINUTE });
    expect(late.resolve(id, 'acme')).toBeUndefined();
    expect(await late.list({ tenant: 'acme' })).toEqual([]);
  });

  it('lists newest first, ends one, ends all others', async () => {
    const first = await sessions.open(ALICE);
    forward(1);
    const second = await sessions.open(ALICE);
    forward(1);
    const third = await sessions.open(ALICE);
    const owner = { tenant: 'acme', subject: 'alice' };
    expect(await sessions.list(owner)).toEqual([third.session, second.session, first.session]);
    expect(await sessions.end(second.session.key)).toBe(true);
    expect(await sessions.endAll(owner, third.session.key)).toBe(1);
    expect(await sessions.list(owner)).toEqual([third.session]);
  });
});

describe('Sessions on a Redis that fails', () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  it('serves a request whose use cannot be written, and refuses one whose session cannot be read', async () => {
    const { clock, forward } = handClock();
    const store = createRedisStore({ url: redis.url, clock });
    onTestFinished(() => store.close());
    await expect.poll(() => store.ready, { interval: 5 }).toBe(true);
    const sessions = new Sessions({ store, clock });
    const { id, session } = await sessions.open(ALICE);
    forward(MINUTE);

    // A Redis without memory to spare reads but does not write.
    const admin = new Redis(redis.url);
    onTestFinished(() => admin.disconnect());
    await admin.config('SET', 'maxmemory', '1');
    await expect(store.touch(session, START)).rejects.toMatchObject({ code: 'session-store-unavailable' });
    expect(await sessions.resolve(id, 'acme')).toMatchObject({ subject: 'alice' });

    await redis.kill();
    await expect(sessions.resolve(id, 'acme')).rejects.toMatchObject({ code: 'session-store-unavailable' });
    await expect(sessions.open(ALICE)).rejects.toMatchObject({ code: 'session-store-unavailable' });
  });
});

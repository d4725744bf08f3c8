import { describe, expect, it } from 'vitest';
import { NearCache } from '../../src/session/near-cache.ts';
import type { Session } from '../../src/session/session.ts';
import { handClock, newSession, START } from './fixture.ts';

/** A near cache that hears of changes, in front of records that change without its being told. */
function nearCache({ entries = 100, maxAge = 30_000 } = {}) {
  const records = new Map<string, Session>();
  const { clock, forward } = handClock();
  const cache = new NearCache({ entries, maxAge, clock, read: async (key) => records.get(key) });
  cache.resume();
  const put = (session: Session) => records.set(session.key, session);
  return { cache, put, forward };
}

describe('age', () => {
  it('is the backstop: what nobody told of is found out when it is over', async () => {
    const { cache, put, forward } = nearCache();
    const session = newSession();
    put(session);
    await cache.get(session.key);
    const changed = { ...session, roles: ['admin'] };
    put(changed);
    forward(29_999);
    expect(cache.get(session.key)).toEqual(session);
    forward(1);
    expect(await cache.get(session.key)).toEqual(changed);
    expect(cache.get(session.key)).toEqual(changed);
  });

  it('does not grow when the clock is set back', async () => {
    const { cache, put, forward } = nearCache();
    const session = newSession();
    put(session);
    await cache.get(session.key);
    forward(-1);
    expect(cache.get(session.key)).toBeInstanceOf(Promise);
  });

  it('counts from the question, not from the answer', async () => {
    const { cache, put, forward } = nearCache();
    const session = newSession();
    put(session);
    const slow = cache.get(session.key);
    forward(20_000);
    await slow;
    forward(10_000);
    expect(cache.get(session.key)).toBeInstanceOf(Promise);
  });

  it('empties the memory of sessions that nobody asks for any more', async () => {
    const { cache, put, forward } = nearCache();
    const busy = newSession();
    for (const session of [busy, newSession(), newSession(), newSession()]) {
      put(session);
      await cache.get(session.key);
    }
    for (let seconds = 0; seconds < 90; seconds += 10) {
      forward(10_000);
      await cache.get(busy.key);
    }
    expect(cache.entries).toBe(1);
  });
});

describe('a session that seems to be over', () => {
  it('is read anew: another process may have used it a moment ago', async () => {
    const { cache, put, forward } = nearCache();
    const session = newSession({ lifetime: { idle: 10_000, absolute: 60_000 } });
    put(session);
    await cache.get(session.key);
    const used = { ...session, seenAt: START + 9_000 };
    put(used);
    forward(9_999);
    expect(cache.get(session.key)).toEqual(session);
    forward(1);
    expect(await cache.get(session.key)).toEqual(used);
  });
});

describe('size', () => {
  it('has a bound, and the newest stay', async () => {
    const { cache, put } = nearCache({ entries: 10 });
    const sessions = Array.from({ length: 1_000 }, () => newSession());
    for (const session of sessions) {
      put(session);
      await cache.get(session.key);
      expect(cache.entries).toBeLessThanOrEqual(10);
      expect(cache.get(session.key)).toEqual(session);
    }
    for (const { key } of sessions.slice(-5)) expect(cache.get(key)).not.toBeInstanceOf(Promise);
    expect(cache.get(sessions[0]?.key ?? '')).toBeInstanceOf(Promise);
  });

  it('lets go of a session that ended, however long ago it was read', async () => {
    const { cache, put } = nearCache({ entries: 10 });
    const sessions = Array.from({ length: 10 }, () => newSession());
    for (const session of sessions) {
      put(session);
      await cache.get(session.key);
    }
    expect(cache.entries).toBe(10);
    for (const { key } of sessions) {
      cache.drop(key);
      expect(cache.get(key)).toBeInstanceOf(Promise);
    }
  });

  it('does not count a session twice that was read again', async () => {
    const { cache, put, forward } = nearCache({ entries: 10 });
    const session = newSession();
    put(session);
    for (let i = 0; i < 20; i++) {
      await cache.get(session.key);
      forward(30_000);
    }
    expect(cache.entries).toBe(1);
  });

  it('does not grow by ids that open nothing (attack: made-up cookies)', async () => {
    const { cache } = nearCache();
    for (let i = 0; i < 100; i++) expect(await cache.get(newSession().key)).toBeUndefined();
    expect(cache.entries).toBe(0);
  });
});

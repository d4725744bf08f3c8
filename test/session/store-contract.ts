import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionStore } from '../../src/session/store.ts';
import { MINUTE, newSession, START } from './fixture.ts';

/** A store whose time starts at `START` and passes when told. */
export interface StoreUnderTest {
  readonly store: SessionStore;
  /** Lets time pass for the store, its own expiry included. */
  advance(milliseconds: number): Promise<void>;
}

/** What every session store must do. */
export function storeContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`${name} as a session store`, () => {
    let store: SessionStore;
    let advance: StoreUnderTest['advance'];

    beforeEach(async () => {
      ({ store, advance } = await open());
    });
    afterEach(() => store.close());

    it('gives back what was created, whole', async () => {
      const user = newSession({ subject: 'Zoë:*\n"', roles: ['user', 'admin'] });
      const visitor = newSession({ subject: undefined, roles: [], method: 'visitor' });
      await store.create(user);
      await store.create(visitor);
      expect(await store.get(user.key)).toEqual(user);
      expect(await store.get(visitor.key)).toEqual(visitor);
    });

    it('knows nothing of a key that was never created', async () => {
      expect(await store.get(newSession().key)).toBeUndefined();
      expect(await store.end(newSession().key)).toBe(false);
    });

    it('forgets a session that was not used for its idle time', async () => {
      const session = newSession();
      await store.create(session);
      await advance(29 * MINUTE);
      expect(await store.get(session.key)).toEqual(session);
      await advance(MINUTE);
      expect(await store.get(session.key)).toBeUndefined();
      expect(await store.list({ tenant: 'acme' })).toEqual([]);
    });

    it('keeps a session that is used, but not beyond its absolute time', async () => {
      const session = newSession();
      await store.create(session);
      for (const minutes of [25, 50, 75, 100]) {
        await advance(25 * MINUTE);
        await store.touch(session, START + minutes * MINUTE);
        expect(await store.get(session.key)).toEqual({ ...session, seenAt: START + minutes * MINUTE });
      }
      await advance(20 * MINUTE);
      expect(await store.get(session.key)).toBeUndefined();
    });

    it('does not revive an ended session when a request that was under way records its use', async () => {
      const session = newSession();
      await store.create(session);
      await store.end(session.key);
      await store.touch(session, START + 1);
      expect(await store.get(session.key)).toBeUndefined();
      expect(await store.list({ tenant: 'acme' })).toEqual([]);
    });

    it('ends a session once', async () => {
      const session = newSession();
      await store.create(session);
      expect(await store.end(session.key)).toBe(true);
      expect(await store.get(session.key)).toBeUndefined();
      expect(await store.end(session.key)).toBe(false);
    });

    it("lists a subject's and a tenant's sessions, and nobody else's", async () => {
      const alice = [newSession(), newSession()];
      const bob = newSession({ subject: 'bob' });
      const visitor = newSession({ subject: undefined });
      const foreign = newSession({ tenant: 'other' });
      for (const session of [...alice, bob, visitor, foreign]) await store.create(session);
      expect(keysOf(await store.list({ tenant: 'acme', subject: 'alice' }))).toEqual(keysOf(alice));
      expect(keysOf(await store.list({ tenant: 'acme' }))).toEqual(keysOf([...alice, bob, visitor]));
      expect(await store.list({ tenant: 'acme', subject: 'nobody' })).toEqual([]);
    });

    it("counts a subject's and a tenant's sessions, without those that reached their absolute expiry", async () => {
      await store.create(newSession());
      await store.create(newSession({ subject: 'bob' }));
      await store.create(newSession({ tenant: 'other' }));
      expect(await store.count({ tenant: 'acme' })).toBe(2);
      expect(await store.count({ tenant: 'acme', subject: 'bob' })).toBe(1);
      await store.endAll({ tenant: 'acme', subject: 'bob' });
      expect(await store.count({ tenant: 'acme' })).toBe(1);
      await advance(120 * MINUTE);
      expect(await store.count({ tenant: 'acme' })).toBe(0);
    });

    it('does not mistake one owner for another whose names run together', async () => {
      await store.create(newSession({ tenant: 'a:b', subject: 'c' }));
      await store.create(newSession({ tenant: 'a', subject: 'b:c' }));
      expect(await store.list({ tenant: 'a', subject: 'b' })).toEqual([]);
      expect(await store.list({ tenant: 'a', subject: 'b:c' })).toHaveLength(1);
      expect(await store.list({ tenant: 'a:b' })).toHaveLength(1);
      expect(await store.endAll({ tenant: 'a' })).toBe(1);
      expect(await store.list({ tenant: 'a:b' })).toHaveLength(1);
    });

    it("ends all of a subject's sessions but the one that asks", async () => {
      const [mine, ...others] = [newSession(), newSession(), newSession()];
      const bob = newSession({ subject: 'bob' });
      for (const session of [mine, ...others, bob]) await store.create(session);
      expect(await store.endAll({ tenant: 'acme', subject: 'alice' }, mine.key)).toBe(2);
      expect(keysOf(await store.list({ tenant: 'acme' }))).toEqual(keysOf([mine, bob]));
      for (const { key } of others) expect(await store.get(key)).toBeUndefined();
      expect(await store.endAll({ tenant: 'acme', subject: 'alice' }, mine.key)).toBe(0);
    });

    it('ends more sessions of a tenant than fit into one step', async () => {
      const sessions = Array.from({ length: 1_203 }, (_, i) => newSession({ subject: `user-${i}` }));
      await Promise.all(sessions.map((session) => store.create(session)));
      expect(await store.list({ tenant: 'acme' })).toHaveLength(1_203);
      expect(await store.endAll({ tenant: 'acme' })).toBe(1_203);
      expect(await store.list({ tenant: 'acme' })).toEqual([]);
      expect(await store.list({ tenant: 'acme', subject: 'user-7' })).toEqual([]);
    });

    it('tells listeners the key of each ended session until they unsubscribe', async () => {
      const heard: string[] = [];
      const [first, second, third] = [newSession(), newSession(), newSession()];
      for (const session of [first, second, third]) await store.create(session);
      const unsubscribe = store.onEnded((key) => heard.push(key));
      await store.end(first.key);
      expect(heard).toEqual([first.key]);
      await store.endAll({ tenant: 'acme', subject: 'alice' }, third.key);
      expect(heard).toEqual([first.key, second.key]);
      unsubscribe();
      await store.end(third.key);
      expect(heard).toHaveLength(2);
    });

    it('tells listeners of an explicit end even when the record is gone: a stream may be left of it', async () => {
      const heard: string[] = [];
      const { key } = newSession();
      store.onEnded((ended) => heard.push(ended));
      await store.end(key);
      expect(heard).toEqual([key]);
    });

    it('is ready', () => {
      expect(store.ready).toBe(true);
    });
  });
}

function keysOf(sessions: readonly { key: string }[]): string[] {
  return sessions.map(({ key }) => key).sort();
}

import { EventEmitter, once } from 'node:events';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createRedisStore, type RedisStoreOptions } from '../../src/session/redis-store.ts';
import type { Session } from '../../src/session/session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import type { SessionStore } from '../../src/session/store.ts';
import { readMarkdown } from '../kit/markdown.ts';
import { startRedis, type TestRedis } from '../kit/redis.ts';
import { openLine, type TcpLine } from '../kit/tcp-line.ts';
import { handClock, MINUTE, newSession } from './fixture.ts';
import { isReady } from './redis-fixture.ts';

const NEAR = { entries: 10_000, maxAge: 30_000 };
/** How each connection is called in CLIENT LIST. */
const READS = 'countersign-sessions';
const INVALIDATIONS = 'countersign-invalidations';
/** An unanswered heartbeat is noticed in two seconds. */
const SOON = { timeout: 5_000, interval: 5 };

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
  const store = createRedisStore({ url: redis.url, clock: handClock().clock, nearCache: NEAR, ...options });
  onTestFinished(() => store.close());
  await isReady(store);
  return store;
}

/** A session that the store has in memory. */
async function keep(store: SessionStore, session: Session = newSession()): Promise<Session> {
  await store.create(session);
  await remember(store, session);
  return session;
}

/** Reads a session until the store has it in memory. */
async function remember(store: SessionStore, session: Session): Promise<void> {
  await vi.waitFor(async () => {
    await store.get(session.key);
    expect(store.get(session.key)).toEqual(session);
  }, SOON);
}

/** The store's clock stands still, so that nothing is forgotten for its age. */
function expectForgotten(store: SessionStore, { key }: Session): Promise<void> {
  return vi.waitFor(async () => expect(await store.get(key)).toBeUndefined(), SOON);
}

const recordOf = ({ key }: Session) => `countersign:session:${key}`;

/** Ids of the stores' connections of that name. */
async function connections(name: string): Promise<string[]> {
  const list = (await admin.client('LIST')) as string;
  const lines = list.split('\n').filter((line) => line.includes(` name=${name} `));
  return lines.map((line) => /^id=(\d+)/.exec(line)?.[1] ?? '');
}

async function kill(name: string): Promise<void> {
  for (const id of await connections(name)) await admin.client('KILL', 'ID', id);
}

/** How often Redis was asked for something since the last CONFIG RESETSTAT. */
async function calls(command: string): Promise<number> {
  const stats = await admin.info('commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

describe('a session read once', () => {
  it('is answered at once and without Redis from then on', async () => {
    const store = await open();
    const session = await keep(store);
    const before = store.nearCache?.hits ?? 0;
    await admin.config('RESETSTAT');
    for (let i = 0; i < 1_000; i++) expect(store.get(session.key)).toBe(store.get(session.key));
    expect(await calls('get')).toBe(0);
    expect(store.nearCache).toMatchObject({ up: true, entries: 1, hits: before + 2_000 });
  });

  it('is asked for once by the parallel requests of a page', async () => {
    const store = await open();
    const session = newSession();
    await store.create(session);
    await admin.config('RESETSTAT');
    const answers = await Promise.all(Array.from({ length: 50 }, async () => store.get(session.key)));
    expect(answers).toEqual(Array(50).fill(session));
    expect(await calls('get')).toBe(1);
  });

  it('is forgotten when this process ends it, before the caller hears that it has', async () => {
    const store = await open();
    const [one, other] = [await keep(store), await keep(store)];
    await store.end(one.key);
    expect(await store.get(one.key)).toBeUndefined();
    await store.endAll({ tenant: 'acme' });
    expect(await store.get(other.key)).toBeUndefined();
  });

  it('shows what this process wrote, though the announcement is late: else each request would write it again', async () => {
    const { line, url } = await lineToRedis();
    const store = await open({ url });
    const session = await keep(store);
    const release = line.hold(INVALIDATIONS);
    await store.touch(session, session.seenAt + MINUTE);
    expect(await store.get(session.key)).toEqual({ ...session, seenAt: session.seenAt + MINUTE });
    await store.end(session.key);
    expect(await store.get(session.key)).toBeUndefined();
    release();
  });

  it('is forgotten when another process ends it', async () => {
    const [here, there] = [await open(), await open()];
    const session = await keep(here);
    await there.end(session.key);
    await expectForgotten(here, session);
  });

  it('is forgotten when it was changed or deleted by hand, or has expired', async () => {
    const store = await open();
    const [changed, deleted, expired] = [await keep(store), await keep(store), await keep(store)];
    await admin.set(recordOf(changed), 'what is this');
    await admin.del(recordOf(deleted));
    await admin.pexpire(recordOf(expired), 500);
    await remember(store, expired);
    for (const session of [changed, deleted, expired]) await expectForgotten(store, session);
  });

  it('is judged by the clock on every hit: idle and absolute time end it in memory too', async () => {
    const { clock, forward } = handClock();
    const sessions = new Sessions({ store: await open({ clock }), clock });
    const brief = { tenant: 'acme', subject: 'alice', roles: ['user'], method: 'password' };
    const idle = await sessions.open({ ...brief, lifetime: { idle: 10_000, absolute: 60_000 } });
    const busy = await sessions.open({ ...brief, lifetime: { idle: 9_000, absolute: 10_000 } });
    for (const { id } of [idle, busy]) expect(await sessions.resolve(id, 'acme')).toBeDefined();
    forward(8_000);
    expect(sessions.resolve(busy.id, 'acme')).toMatchObject({ subject: 'alice' });
    forward(2_000);
    for (const { id } of [idle, busy]) expect(await sessions.resolve(id, 'acme')).toBeUndefined();
  });
});

describe('a session that several processes use', () => {
  it('is written once a minute by one of them, and read anew once by each', async () => {
    const { clock, forward } = handClock();
    const processes: Sessions[] = [];
    for (let i = 0; i < 3; i++) processes.push(new Sessions({ store: await open({ clock }), clock }));
    const [first] = processes;
    const opened = await first?.open({
      tenant: 'acme',
      subject: 'alice',
      roles: ['user'],
      method: 'password',
      lifetime: { idle: 30 * MINUTE, absolute: 120 * MINUTE },
    });
    const id = opened?.id ?? '';
    const seenBy = () => Promise.all(processes.map(async (sessions) => (await sessions.resolve(id, 'acme'))?.seenAt));

    await seenBy();
    for (let minute = 1; minute <= 5; minute++) {
      forward(MINUTE);
      await admin.config('RESETSTAT');
      // The one that comes first writes it, and all see what it wrote.
      await first?.resolve(id, 'acme');
      await vi.waitFor(async () => expect(await seenBy()).toEqual([clock(), clock(), clock()]), SOON);
      for (let i = 0; i < 500; i++) await seenBy();
      expect(await calls('set')).toBe(1);
      // Each reads it because it has aged, because it was announced, and once more if the announcement came meanwhile.
      expect(await calls('get')).toBeLessThanOrEqual(9);
    }
  });
});

describe('a change while the session is being read', () => {
  // Without care the process would keep what it read before the revocation, and nobody would tell it a second time.
  it('wins when its announcement overtakes the answer (attack: a revoked session that stays)', async () => {
    const { line, url } = await lineToRedis();
    const store = await open({ url });
    const session = newSession();
    await store.create(session);
    const witness = await keep(store);
    await admin.config('RESETSTAT');

    const release = line.hold(READS);
    const read = store.get(session.key);
    await vi.waitFor(async () => expect(await calls('get')).toBe(1), SOON);
    await admin.del(recordOf(session));
    // Announcements keep their order: with this one the one before has been heard.
    await admin.del(recordOf(witness));
    await vi.waitFor(() => expect(store.nearCache?.entries).toBe(0), SOON);
    release();
    expect(await read).toEqual(session);
    expect(store.nearCache?.entries).toBe(0);
    expect(await store.get(session.key)).toBeUndefined();
  });

  it('is not hidden from who asks after it behind the read that was under way', async () => {
    const { line, url } = await lineToRedis();
    const store = await open({ url });
    const session = newSession();
    await store.create(session);
    const witness = await keep(store);
    await admin.config('RESETSTAT');

    const release = line.hold(READS);
    const before = store.get(session.key);
    await vi.waitFor(async () => expect(await calls('get')).toBe(1), SOON);
    await admin.del(recordOf(session), recordOf(witness));
    await vi.waitFor(() => expect(store.nearCache?.entries).toBe(0), SOON);
    const after = store.get(session.key);
    release();
    expect([await before, await after]).toEqual([session, undefined]);
  });

  it('leaves nothing stale behind in thousands of races', async () => {
    const store = await open();
    const other = new Redis(redis.url);
    onTestFinished(() => other.disconnect());
    const witness = await keep(store);
    let found = 0;
    for (let round = 0; round < 100; round++) {
      const sessions = Array.from({ length: 50 }, () => newSession());
      await Promise.all(sessions.map((session) => store.create(session)));
      const races = sessions.map(async (session, i) => {
        const deleted = i % 2 === 0 ? other.del(recordOf(session)) : undefined;
        if ((await store.get(session.key)) !== undefined) found++;
        await (deleted ?? other.del(recordOf(session)));
      });
      await Promise.all(races);
    }
    await other.del(recordOf(witness));
    await vi.waitFor(() => expect(store.nearCache?.entries).toBe(0), SOON);
    expect(found).toBeGreaterThan(0);
    expect(found).toBeLessThan(5_000);
  });
});

describe('the connection that brings the changes', () => {
  it('killed: what is in memory is forgotten, Redis asked until it is back, and then all is as before', async () => {
    const { store, onBypass, down } = await openWatched();
    for (const time of [1, 2, 3]) {
      const [ended, alive] = [await keep(store), await keep(store)];
      const isDown = down();
      await kill(INVALIDATIONS);
      await isDown;
      expect(store.nearCache).toMatchObject({ up: false, entries: 0 });
      expect(store.ready).toBe(true);
      await admin.del(recordOf(ended));
      expect(await store.get(ended.key)).toBeUndefined();
      expect(await store.get(alive.key)).toEqual(alive);
      await isReady(store);
      expect(onBypass).toHaveBeenCalledTimes(time);
      await keep(store, alive);
      await admin.del(recordOf(alive));
      await expectForgotten(store, alive);
    }
  });

  it('dead without a sound: noticed in two seconds, and nothing that ended meanwhile is found again', async () => {
    const { line, url } = await lineToRedis();
    const { store, down } = await openWatched({ url });
    const session = await keep(store);
    const isDown = down();
    onTestFinished(line.hold(INVALIDATIONS));
    const since = performance.now();
    await admin.del(recordOf(session));
    await isDown;
    expect(performance.now() - since).toBeLessThan(2_500);
    expect(await store.get(session.key)).toBeUndefined();
  });

  it('lost together with the other: a session that ended while this process was cut off is not found again', async () => {
    const { line, url } = await lineToRedis();
    const { store, onBypass } = await openWatched({ url });
    const [ended, alive] = [await keep(store), await keep(store)];
    line.cut();
    // Both are lost, and each tries in vain to come back.
    await vi.waitFor(() => expect(line.refused).toBeGreaterThan(5), SOON);
    expect(store.nearCache).toMatchObject({ up: false, entries: 0 });
    await admin.del(recordOf(ended));
    line.mend();
    await isReady(store);
    expect(onBypass).toHaveBeenCalledTimes(1);
    expect(await store.get(ended.key)).toBeUndefined();
    expect(await store.get(alive.key)).toEqual(alive);
  });

  it('outlives the one that reads: a new one is tracked from its first read', async () => {
    const { store, down } = await openWatched();
    const session = await keep(store);
    const isDown = down();
    await kill(READS);
    await isDown;
    await isReady(store);
    await keep(store, session);
    await admin.del(recordOf(session));
    await expectForgotten(store, session);
  });

  it('not permitted, as by a proxy or an ACL: said once, every request asks Redis, and it comes up when it may', async () => {
    await admin.acl('SETUSER', 'default', '-client|tracking');
    onTestFinished(async () => void (await admin.acl('SETUSER', 'default', '+client|tracking')));
    const onBypass = vi.fn();
    const store = createRedisStore({ url: redis.url, clock: handClock().clock, nearCache: NEAR, onBypass });
    onTestFinished(() => store.close());
    await vi.waitFor(() => expect(onBypass).toHaveBeenCalled(), SOON);
    await vi.waitFor(() => expect(store.ready).toBe(true), SOON);
    const session = newSession();
    await store.create(session);
    for (let i = 0; i < 3; i++) expect(await store.get(session.key)).toEqual(session);
    expect(store.nearCache).toMatchObject({ up: false, entries: 0, hits: 0, misses: 3 });
    expect(String(onBypass.mock.calls)).toContain('NOPERM');
    await admin.acl('SETUSER', 'default', '+client|tracking');
    await isReady(store);
    await keep(store, session);
    expect(onBypass).toHaveBeenCalledTimes(1);
  });

  it('takes the rights that the operations guide names, and no other of its kind', async () => {
    const guide = readMarkdown('docs/operations.md').section('Sizing and limits').text;
    const rights = ['+client|id', '+client|tracking', '&__redis__:invalidate'];
    for (const right of rights) expect(guide).toContain(`\`${right}\``);
    await admin.acl(
      'SETUSER',
      'few',
      'on',
      '>secret',
      '~countersign:*',
      '&countersign:ended',
      '+@all',
      '-client',
      ...rights,
    );
    const store = await open({ url: `redis://few:secret@127.0.0.1:${redis.port}` });
    const session = await keep(store);
    await admin.del(recordOf(session));
    await expectForgotten(store, session);
  });

  it('says nothing when the store is closed', async () => {
    const { store, onBypass } = await openWatched();
    await keep(store);
    await store.close();
    await vi.waitFor(async () => expect(await connections(INVALIDATIONS)).toEqual([]), SOON);
    expect(onBypass).not.toHaveBeenCalled();
  });
});

describe('Redis emptied, restarted or hung', () => {
  it('FLUSHDB empties the memory too', async () => {
    const store = await open();
    const sessions = [await keep(store), await keep(store)];
    await admin.flushdb();
    for (const session of sessions) await expectForgotten(store, session);
    await keep(store);
  });

  it('restarted without its data: no session is left', async () => {
    const mortal = await startRedis();
    onTestFinished(() => mortal.stop());
    const store = await open({ url: mortal.url });
    const session = await keep(store);
    await mortal.restart();
    await vi.waitFor(async () => expect(await store.get(session.key)).toBeUndefined(), SOON);
    await isReady(store);
    await keep(store, session);
  });

  it('hung: fails closed, what is in memory included, as soon as it is noticed', async () => {
    const mortal = await startRedis();
    onTestFinished(() => mortal.stop());
    const store = await open({ url: mortal.url });
    const session = await keep(store);
    const refusal = { code: 'session-store-unavailable', status: 503 };
    mortal.pause();
    const since = performance.now();
    await vi.waitFor(async () => expect(async () => store.get(session.key)).rejects.toMatchObject(refusal), SOON);
    expect(performance.now() - since).toBeLessThan(3_500);
    mortal.resume();
    await isReady(store);
    expect(await store.get(session.key)).toEqual(session);
  });
});

async function lineToRedis(): Promise<{ line: TcpLine; url: string }> {
  const line = await openLine(redis.port);
  onTestFinished(() => line.close());
  return { line, url: `redis://127.0.0.1:${line.port}` };
}

/** A store, how often its near cache went down, and what resolves when it next does, however short that is. */
async function openWatched(options: Partial<RedisStoreOptions> = {}) {
  const bypasses = new EventEmitter();
  const onBypass = vi.fn(() => bypasses.emit('down'));
  const store = await open({ ...options, onBypass });
  return { store, onBypass, down: () => once(bypasses, 'down') };
}

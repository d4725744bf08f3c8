import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../src/session/memory-store.ts';
import { handClock, MINUTE, newSession, START } from './fixture.ts';
import { storeContract } from './store-contract.ts';

storeContract('memory', async () => {
  const { clock, forward } = handClock();
  return { store: createMemoryStore({ clock, capacity: 2_000 }), advance: async (ms) => forward(ms) };
});

describe('the memory store', () => {
  it('answers at once, so that a request need not wait a turn of the event loop', async () => {
    const store = createMemoryStore({ clock: handClock().clock, capacity: 10 });
    const session = newSession();
    await store.create(session);
    expect(store.get(session.key)).toEqual(session);
  });

  it('refuses a session past its capacity instead of dropping somebody else', async () => {
    const store = createMemoryStore({ clock: handClock().clock, capacity: 2 });
    const sessions = [newSession(), newSession()];
    for (const session of sessions) await store.create(session);
    await expect(store.create(newSession())).rejects.toMatchObject({
      code: 'session-store-unavailable',
      status: 503,
      headers: { 'Retry-After': '1' },
    });
    for (const session of sessions) expect(store.get(session.key)).toEqual(session);
    await store.end(sessions[0]?.key ?? '');
    await expect(store.create(newSession())).resolves.toBeUndefined();
  });

  it('makes room by sweeping out what has expired, though nobody asked for it again', async () => {
    const { clock, forward } = handClock();
    const store = createMemoryStore({ clock, capacity: 2 });
    await store.create(newSession());
    await store.create(newSession());
    forward(30 * MINUTE);
    const late = newSession({ createdAt: START + 30 * MINUTE, seenAt: START + 30 * MINUTE });
    await store.create(late);
    expect(store.get(late.key)).toEqual(late);
  });
});

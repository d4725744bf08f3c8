import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createMemoryStore } from '../../src/session/memory-store.ts';
import type { SessionStore } from '../../src/session/store.ts';
import { LiveStreams } from '../../src/session/streams.ts';
import { MINUTE, newSession, START } from './fixture.ts';

const DAY = 24 * 60 * MINUTE;

describe('LiveStreams', () => {
  let store: SessionStore;
  let streams: LiveStreams;

  beforeEach(() => {
    vi.useFakeTimers({ now: START });
    store = createMemoryStore({ clock: Date.now, capacity: 10 });
    streams = new LiveStreams({ store, clock: Date.now });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('closes every stream of a session the moment it is ended, and no other', async () => {
    const [session, other] = [newSession(), newSession()];
    const [first, second, foreign] = [vi.fn(), vi.fn(), vi.fn()];
    await store.create(session);
    streams.add(session, first);
    streams.add(session, second);
    streams.add(other, foreign);
    await store.end(session.key);
    expect([first, second, foreign].map((close) => close.mock.calls.length)).toEqual([1, 1, 0]);
    await store.end(session.key);
    expect(first).toHaveBeenCalledTimes(1);
  });

  it('closes nothing that has ended by itself, and leaves no timer behind', async () => {
    const session = newSession();
    const [closed, open] = [vi.fn(), vi.fn()];
    const remove = streams.add(session, closed);
    const removeOpen = streams.add(session, open);
    remove();
    remove();
    await store.end(session.key);
    expect(closed).not.toHaveBeenCalled();
    expect(open).toHaveBeenCalledTimes(1);
    removeOpen();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('closes a stream when its session reaches its absolute expiry, however busy it is', () => {
    const close = vi.fn();
    streams.add(newSession(), close);
    vi.advanceTimersByTime(120 * MINUTE - 1);
    expect(close).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(close).toHaveBeenCalledTimes(1);
  });

  it('waits for an expiry that is further away than a timer can count', () => {
    const close = vi.fn();
    streams.add(newSession({ lifetime: { idle: 90 * DAY, absolute: 60 * DAY } }), close);
    vi.advanceTimersByTime(60 * DAY - 1);
    expect(close).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(close).toHaveBeenCalledTimes(1);
  });

  it('closes a stream whose session was ended while it was being set up (attack: racing the revocation)', async () => {
    const session = newSession();
    const [close, gone] = [vi.fn(), vi.fn()];
    await store.create(session);
    await store.end(session.key);
    streams.add(session, close);
    streams.add(session, gone)();
    expect(close).not.toHaveBeenCalled();
    await Promise.resolve();
    expect(close).toHaveBeenCalledTimes(1);
    expect(gone).not.toHaveBeenCalled();
  });

  it('closes a stream whose session has run out before it was set up', async () => {
    const close = vi.fn();
    streams.add(newSession({ createdAt: START - 120 * MINUTE }), close);
    await Promise.resolve();
    expect(close).toHaveBeenCalledTimes(1);
  });

  it('closes everything at shutdown and hears no more', async () => {
    const close = vi.fn();
    const session = newSession();
    streams.add(session, close);
    streams.close();
    expect(close).toHaveBeenCalledTimes(1);
    await store.end(session.key);
    expect(close).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});

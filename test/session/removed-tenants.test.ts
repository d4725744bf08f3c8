import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createMemoryStore } from '../../src/session/memory-store.ts';
import { RemovedTenants } from '../../src/session/removed-tenants.ts';
import { LiveStreams } from '../../src/session/streams.ts';
import { newSession, START } from './fixture.ts';

const DRAIN = 1000;
let streams: LiveStreams;
let removed: RemovedTenants;

beforeEach(() => {
  vi.useFakeTimers({ now: START });
  streams = new LiveStreams({ store: createMemoryStore({ clock: Date.now, capacity: 10 }), clock: Date.now });
  removed = new RemovedTenants(streams);
});
afterEach(() => {
  vi.useRealTimers();
});

/** Opens a stream of a tenant; gives whether it was closed. */
function open(tenant: string): () => boolean {
  const close = vi.fn();
  streams.add({ ...newSession(), tenant }, close);
  return () => close.mock.calls.length > 0;
}

it('closes the streams of a removed tenant when its time is over, and those of no other', () => {
  const [leaving, staying] = [open('acme'), open('globex')];
  removed.remove(['acme'], DRAIN);
  vi.advanceTimersByTime(DRAIN - 1);
  expect(leaving()).toBe(false);
  vi.advanceTimersByTime(1);
  expect([leaving(), staying()]).toEqual([true, false]);
});

it('closes a stream that a slow request opens after that', async () => {
  removed.remove(['acme'], DRAIN);
  vi.advanceTimersByTime(DRAIN);
  const late = open('acme');
  await Promise.resolve();
  expect(late()).toBe(true);
});

it('spares a tenant that is put back in time, and lets one that is put back later open streams again', async () => {
  const early = open('acme');
  removed.remove(['acme', 'globex'], DRAIN);
  removed.add(['acme']);
  vi.advanceTimersByTime(DRAIN);
  expect(early()).toBe(false);

  removed.add(['globex']);
  const again = open('globex');
  await Promise.resolve();
  expect(again()).toBe(false);
});

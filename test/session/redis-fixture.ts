import type { Redis } from 'ioredis';
import { expect, vi } from 'vitest';
import type { SessionStore } from '../../src/session/store.ts';

/** The store answers and, where it has a near cache, hears of changes. */
export function isReady(store: SessionStore): Promise<void> {
  return vi.waitFor(
    () => {
      expect(store.ready).toBe(true);
      expect(store.nearCache?.up).not.toBe(false);
    },
    { timeout: 10_000, interval: 5 },
  );
}

/** Time passes in Redis too: every key has that much less to live. */
export async function age(admin: Redis, milliseconds: number): Promise<void> {
  for (const key of await admin.keys('*')) await admin.pexpire(key, (await admin.pttl(key)) - milliseconds);
}

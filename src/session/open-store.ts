import type { Secret } from '../secret.ts';
import { createMemoryStore } from './memory-store.ts';
import type { NearCacheLimits } from './near-cache.ts';
import { createRedisStore } from './redis-store.ts';
import { createSeal } from './seal.ts';
import type { SessionStore } from './store.ts';

/** Sessions one process keeps in memory: some 50 MB when full. */
export const MEMORY_CAPACITY = 100_000;

export interface OpenStoreOptions {
  readonly clock: () => number;
  /** Base64 of 32 bytes each; the first seals, all open. Empty: records are stored in the clear. */
  readonly sealKeys: readonly Secret[];
  /** Hears the first error of each outage of Redis. */
  readonly onError?: (error: Error) => void;
  /** Of a Redis; none with 0 entries. */
  readonly nearCache?: NearCacheLimits;
  /** Hears why the near cache is bypassed. */
  readonly onBypass?: (error: Error) => void;
}

/**
 * The store that the setting `sessions.store` names: `memory`, or the URL of a Redis. Returns at once, whether or not
 * Redis is up; throws RangeError for anything else and for a sealing key that is none.
 */
export function openStore(storeUrl: string, options: OpenStoreOptions): SessionStore {
  const { clock, sealKeys, onError, onBypass } = options;
  if (storeUrl === 'memory') return createMemoryStore({ clock, capacity: MEMORY_CAPACITY });
  if (!/^rediss?:\/\//.test(storeUrl))
    throw new RangeError('A session store is memory or a redis:// or rediss:// URL.');
  const seal = sealKeys.length > 0 ? createSeal(sealKeys) : undefined;
  const nearCache = options.nearCache?.entries === 0 ? undefined : options.nearCache;
  return createRedisStore({ url: storeUrl, clock, seal, onError, nearCache, onBypass });
}

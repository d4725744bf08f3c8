import { type AttemptLimits, DEFAULT_LIMITS, type FailedAttempts } from './attempts.ts';
import { memoryAttempts } from './attempts-memory.ts';
import { redisAttempts } from './attempts-redis.ts';

export interface OpenAttemptsOptions {
  /** 5 failures per user and network, 50 per network, in 15 minutes, unless given. */
  readonly limits?: AttemptLimits;
  /** Hears the first error of each outage of Redis. */
  readonly onError?: (error: Error) => void;
}

/**
 * Counts failed logins where the setting `sessions.store` keeps the sessions: `memory`, or the URL of a Redis, on a
 * connection of its own. Returns at once, whether or not Redis is up.
 */
export function openAttempts(storeUrl: string, options: OpenAttemptsOptions = {}): FailedAttempts {
  const limits = options.limits ?? DEFAULT_LIMITS;
  return storeUrl === 'memory' ? memoryAttempts(limits) : redisAttempts(storeUrl, limits, options.onError);
}

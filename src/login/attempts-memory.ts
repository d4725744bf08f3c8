import { RateLimiterMemory } from 'rate-limiter-flexible';
import { asProblem } from '../problem.ts';
import { type AttemptLimits, createFailedAttempts, type FailedAttempts, wholeSeconds } from './attempts.ts';

/** Failed logins counted in this process. */
export function memoryAttempts(limits: AttemptLimits): FailedAttempts {
  const duration = wholeSeconds(limits);
  return createFailedAttempts({
    perUser: new RateLimiterMemory({ points: limits.perUser, duration, keyPrefix: 'user' }),
    perAddress: new RateLimiterMemory({ points: limits.perAddress, duration, keyPrefix: 'address' }),
    unavailable: asProblem,
    close: async () => undefined,
  });
}

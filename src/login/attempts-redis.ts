import { RateLimiterRedis } from 'rate-limiter-flexible';
import { connectRedis, OutageReport, redisUnavailable } from '../session/redis-connection.ts';
import { type AttemptLimits, createFailedAttempts, type FailedAttempts, wholeSeconds } from './attempts.ts';

/** Failed logins counted over all processes on one Redis. `onError` hears the first error of each outage. */
export function redisAttempts(url: string, limits: AttemptLimits, onError?: (error: Error) => void): FailedAttempts {
  const outage = new OutageReport(onError);
  const { client, close } = connectRedis({
    url,
    name: 'countersign-attempts',
    onUp: () => outage.up('attempts'),
    onDown: (error) => outage.down('attempts', error),
  });
  const shared = { storeClient: client, duration: wholeSeconds(limits) };
  return createFailedAttempts({
    perUser: new RateLimiterRedis({ ...shared, points: limits.perUser, keyPrefix: 'countersign:attempts:user' }),
    perAddress: new RateLimiterRedis({
      ...shared,
      points: limits.perAddress,
      keyPrefix: 'countersign:attempts:address',
    }),
    unavailable: redisUnavailable,
    close,
  });
}

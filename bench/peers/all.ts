import type { Peer } from '../peer.ts';
import { countersignMemory } from './countersign.ts';
import { countersignRedis, countersignRedisOnly } from './countersign-redis.ts';
import { hello } from './hello.ts';
import { httpProxy3 } from './http-proxy-3.ts';
import { nginx } from './nginx.ts';

/** In the order of the report and of every round. */
export const PEERS: readonly Peer[] = [
  countersignMemory,
  countersignRedis,
  countersignRedisOnly,
  httpProxy3,
  nginx,
  hello,
];
/** What every ratio is relative to, and what the target is about. */
export const REFERENCE = httpProxy3;
export const SUBJECT = countersignMemory;

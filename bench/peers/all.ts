import type { Peer } from '../peer.ts';
import { aiohttp } from './aiohttp.ts';
import { awsSigv4Proxy } from './aws-sigv4-proxy.ts';
import { countersignMemory, countersignWorkers } from './countersign.ts';
import { countersignRedis, countersignRedisOnly } from './countersign-redis.ts';
import { fastify } from './fastify.ts';
import { haproxy } from './haproxy.ts';
import { hello } from './hello.ts';
import { httpProxy } from './http-proxy.ts';
import { httpProxy3 } from './http-proxy-3.ts';
import { nginx } from './nginx.ts';
import { nginxLua } from './nginx-lua.ts';
import { oauth2Proxy } from './oauth2-proxy.ts';

/** In the order of the report and of every round. */
export const PEERS: readonly Peer[] = [
  countersignMemory,
  countersignWorkers,
  countersignRedis,
  countersignRedisOnly,
  httpProxy3,
  httpProxy,
  fastify,
  nginx,
  haproxy,
  nginxLua,
  aiohttp,
  awsSigv4Proxy,
  oauth2Proxy,
  hello,
];
/** What every ratio is relative to. */
export const REFERENCE = httpProxy3;

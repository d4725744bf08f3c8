import type { Peer } from '../peer.ts';
import { startGateway } from './countersign.ts';
import { startRedis } from './redis.ts';

// Redis itself runs beside the load and is not part of the figures.

export const countersignRedis: Peer = {
  name: 'countersign-redis',
  title: 'Countersign, full job, sessions in Redis, near cache',
  required: true,
  workloads: ['get-1k', 'latency', 'post-1k'],
  start: async (stage) => startGateway(stage, { sessions: { store: await startRedis(stage.children, stage.folder) } }),
};

/** What the near cache spares. */
export const countersignRedisOnly: Peer = {
  name: 'countersign-redis-only',
  title: 'Countersign, full job, sessions in Redis, asked each time',
  required: true,
  workloads: ['get-1k', 'latency', 'post-1k'],
  async start(stage) {
    const store = await startRedis(stage.children, stage.folder);
    return startGateway(stage, { sessions: { store, nearCache: { entries: 0 } } });
  },
};

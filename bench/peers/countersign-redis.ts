import type { Peer } from '../peer.ts';
import { startGateway } from './countersign.ts';
import { startRedis } from './redis.ts';

// Redis itself runs beside the load and is not part of the figures.

export const countersignRedis: Peer = {
  name: 'countersign-redis',
  title: 'Countersign, full job, sessions in Redis, near cache',
  required: true,
  start: async (stage) => startGateway(stage, { store: await startRedis(stage.children, stage.folder) }),
};

/** What the near cache spares. */
export const countersignRedisOnly: Peer = {
  name: 'countersign-redis-only',
  title: 'Countersign, full job, sessions in Redis, asked each time',
  required: true,
  async start(stage) {
    const store = await startRedis(stage.children, stage.folder);
    return startGateway(stage, { store, nearCache: { entries: 0 } });
  },
};

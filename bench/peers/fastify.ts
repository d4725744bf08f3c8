import type { Peer } from '../peer.ts';
import { startNodeProxy } from './node-proxy.ts';
import { packageVersion } from './npm.ts';

export const fastify: Peer = {
  name: 'fastify',
  title: '@fastify/http-proxy, bare',
  required: false,
  async start(stage) {
    const versions = {
      fastify: packageVersion('fastify'),
      '@fastify/http-proxy': packageVersion('@fastify/http-proxy'),
    };
    return { ...(await startNodeProxy(stage, 'fastify.ts')), versions };
  },
};

import type { Peer } from '../peer.ts';
import { startNodeProxy } from './node-proxy.ts';
import { packageVersion } from './npm.ts';

export const httpProxy: Peer = {
  name: 'http-proxy',
  title: 'http-proxy 1.18, bare, keep-alive agent',
  required: false,
  async start(stage) {
    const versions = { 'http-proxy': packageVersion('http-proxy') };
    return { ...(await startNodeProxy(stage, 'http-proxy.ts')), versions };
  },
};

import type { Peer } from '../peer.ts';
import { startNodeProxy } from './node-proxy.ts';

/** What every ratio is relative to. */
export const httpProxy3: Peer = {
  name: 'http-proxy-3',
  title: 'http-proxy-3, bare, keep-alive agent',
  required: true,
  start: (stage) => startNodeProxy(stage, 'http-proxy-3.ts'),
};

import { checkAnswer } from '../checks/answer.ts';
import { REPLY_BODY } from '../upstream-reply.ts';
import type { Workload } from '../workload.ts';
import { GET_1K } from './get-1k.ts';

/** What each request waits for its answer when they come at a rate, whether or not the peer keeps up. */
export const latency: Workload = {
  name: 'latency',
  title: 'GET, 1 KB, at a fixed rate (open loop)',
  unit: 'request',
  check: (peer) => checkAnswer(peer, GET_1K, REPLY_BODY),
  run: (target, seconds, { clients, rate }) => {
    return clients.run('open-loop.ts', target, GET_1K, { connections: 64, seconds, rate });
  },
};

import { checkAnswer } from '../checks/answer.ts';
import { REPLY_BODY } from '../upstream-reply.ts';
import type { Workload } from '../workload.ts';
import { GET_1K } from './get-1k.ts';

const CONNECTIONS = 1000;

export const idle: Workload = {
  name: 'idle',
  title: '1,000 idle keep-alive connections (one GET before, one after)',
  unit: 'connection',
  once: true,
  check: (peer) => checkAnswer(peer, GET_1K, REPLY_BODY),
  run: (target, seconds, { clients }) => {
    return clients.run('idle.ts', target, GET_1K, { connections: CONNECTIONS, seconds });
  },
};

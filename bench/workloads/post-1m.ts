import { UPLOAD_PATH } from '../upstream-reply.ts';
import { JSON_HEADERS, jsonOfSize } from '../workload.ts';
import { closedLoop } from './closed-loop.ts';

const BYTES = 2 ** 20;

export const post1m = closedLoop({
  name: 'post-1m',
  title: 'POST, 1 MB JSON body',
  request: { method: 'POST', path: UPLOAD_PATH, headers: JSON_HEADERS, body: jsonOfSize(BYTES) },
  answer: JSON.stringify({ received: BYTES }),
  connections: 16,
});

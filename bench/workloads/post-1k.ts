import { REPLY_BODY, REPLY_PATH } from '../upstream-reply.ts';
import { JSON_HEADERS, jsonOfSize } from '../workload.ts';
import { closedLoop } from './closed-loop.ts';

export const post1k = closedLoop({
  name: 'post-1k',
  title: 'POST, 1 KB JSON body and reply',
  request: { method: 'POST', path: REPLY_PATH, headers: JSON_HEADERS, body: jsonOfSize(1024) },
  answer: REPLY_BODY,
  connections: 64,
});

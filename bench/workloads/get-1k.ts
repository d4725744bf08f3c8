import { REPLY_BODY, REPLY_PATH } from '../upstream-reply.ts';
import { PAGE_HEADERS, type RequestShape } from '../workload.ts';
import { closedLoop } from './closed-loop.ts';

export const GET_1K: RequestShape = { method: 'GET', path: REPLY_PATH, headers: PAGE_HEADERS, body: undefined };

export const get1k = closedLoop({
  name: 'get-1k',
  title: 'GET, 1 KB JSON reply',
  request: GET_1K,
  answer: REPLY_BODY,
  connections: 64,
});

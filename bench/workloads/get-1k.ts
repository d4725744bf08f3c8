import { REPLY_PATH } from '../upstream-reply.ts';
import { PAGE_HEADERS, type Workload } from '../workload.ts';

export const get1k: Workload = {
  name: 'get-1k',
  title: 'GET, 1 KB JSON reply',
  method: 'GET',
  path: REPLY_PATH,
  headers: PAGE_HEADERS,
  body: undefined,
};

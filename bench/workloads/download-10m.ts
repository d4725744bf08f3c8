import { LARGE_BYTES, LARGE_PATH } from '../upstream-reply.ts';
import { PAGE_HEADERS } from '../workload.ts';
import { closedLoop } from './closed-loop.ts';

export const download10m = closedLoop({
  name: 'download-10m',
  title: 'Download of 10 MB',
  request: { method: 'GET', path: LARGE_PATH, headers: PAGE_HEADERS, body: undefined },
  answer: Buffer.alloc(LARGE_BYTES, 'x'),
  connections: 8,
});

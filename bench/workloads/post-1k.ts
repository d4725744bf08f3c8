import { REPLY_PATH } from '../upstream-reply.ts';
import { kilobyteOfJson, PAGE_HEADERS, type Workload } from '../workload.ts';

export const post1k: Workload = {
  name: 'post-1k',
  title: 'POST, 1 KB JSON body and reply',
  method: 'POST',
  path: REPLY_PATH,
  headers: { ...PAGE_HEADERS, 'Content-Type': 'application/json' },
  body: kilobyteOfJson(),
};

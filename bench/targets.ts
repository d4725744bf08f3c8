import { countersignMemory, countersignWorkers } from './peers/countersign.ts';
import { httpProxy3 } from './peers/http-proxy-3.ts';
import { nginx } from './peers/nginx.ts';
import { nginxLua } from './peers/nginx-lua.ts';
import type { Target } from './target.ts';
import { download10m } from './workloads/download-10m.ts';
import { get1k } from './workloads/get-1k.ts';
import { latency } from './workloads/latency.ts';
import { post1k } from './workloads/post-1k.ts';
import { post1m } from './workloads/post-1m.ts';
import { uploads } from './workloads/uploads.ts';

const full = { subject: countersignMemory } as const;
const bare = { ...full, reference: httpProxy3 } as const;

/** What the full job is promised to cost, beside peers that do none, or the same. */
export const TARGETS: readonly Target[] = [
  { ...bare, workload: get1k, measure: 'rate', atLeast: 2.5 },
  { ...bare, workload: get1k, measure: 'cpu', atMost: 0.4 },
  { ...full, reference: nginx, workload: get1k, measure: 'cpu', atMost: 2.5 },
  { ...full, reference: nginxLua, workload: get1k, measure: 'cpu', atMost: 0.5 },
  { ...bare, workload: post1k, measure: 'cpu', atMost: 0.4 },
  { ...bare, workload: post1m, measure: 'cpu', atMost: 1 },
  { ...bare, workload: download10m, measure: 'cpu', atMost: 0.5 },
  { ...bare, workload: latency, measure: 'p99', atMost: 1 },
  { ...full, workload: uploads, measure: 'rss', atMost: 200 },
  {
    subject: countersignWorkers,
    reference: countersignMemory,
    workload: get1k,
    measure: 'rate',
    atLeast: 1.8,
    cpus: 2,
  },
];

import type { Workload } from '../workload.ts';
import { download10m } from './download-10m.ts';
import { echo } from './echo.ts';
import { events } from './events.ts';
import { get1k } from './get-1k.ts';
import { idle } from './idle.ts';
import { latency } from './latency.ts';
import { post1k } from './post-1k.ts';
import { post1m } from './post-1m.ts';
import { uploads } from './uploads.ts';

/** In the order of the run and of the report; the rate of `latency` comes from `get-1k`. */
export const WORKLOADS: readonly Workload[] = [
  get1k,
  latency,
  post1k,
  post1m,
  download10m,
  echo,
  events,
  idle,
  uploads,
];
/** What `--quick` measures. */
export const QUICK: readonly Workload[] = [get1k, latency, post1k];

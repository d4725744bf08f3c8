import type { Workload } from '../workload.ts';
import { get1k } from './get-1k.ts';
import { post1k } from './post-1k.ts';

/** In the order of the report. */
export const WORKLOADS: readonly Workload[] = [get1k, post1k];

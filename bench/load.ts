import type { Children } from './children.ts';
import { BuiltInLoad } from './load/built-in.ts';
import { WrkLoad } from './load/wrk.ts';
import { findProgram } from './programs.ts';
import type { Workload } from './workload.ts';

/** Connections that each ask again as soon as they have their answer. */
export const CONNECTIONS = 64;

/** What one run of the load came to. */
export interface LoadResult {
  /** Answers received whole. */
  readonly requests: number;
  /** Broken connections, timeouts, and answers that were neither 2xx nor 3xx. */
  readonly errors: number;
  readonly seconds: number;
}

export interface Target {
  readonly port: number;
  readonly workload: Workload;
  readonly cookie: string;
}

export interface Load {
  readonly kind: 'wrk' | 'built-in';
  run(target: Target, seconds: number): Promise<LoadResult>;
}

/** wrk, which costs the least beside the upstream, or where there is none a generator of our own. */
export function chooseLoad(children: Children, folder: string): Load {
  const wrk = findProgram('wrk');
  return wrk === undefined ? new BuiltInLoad(children) : new WrkLoad(children, wrk, folder);
}

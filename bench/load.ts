import type { Children } from './children.ts';
import type { Clients } from './clients.ts';
import { BuiltInLoad } from './load/built-in.ts';
import { WrkLoad } from './load/wrk.ts';
import { findProgram } from './programs.ts';
import type { Latency } from './statistics.ts';
import type { RequestShape } from './workload.ts';

/** What one round of a workload came to. */
export interface LoadResult {
  /** What was asked for and came whole: answers, events, echoes. */
  readonly units: number;
  /** Broken connections, timeouts, and answers that were neither 2xx nor 3xx. */
  readonly errors: number;
  readonly seconds: number;
  /** Where the workload tells it. */
  readonly latency?: Latency;
}

/** Whom a round is sent to. */
export interface Target {
  readonly port: number;
  readonly cookie: string;
}

/** Connections that each ask the same again as soon as they have their answer. */
export interface Load {
  readonly kind: 'wrk' | 'built-in';
  run(target: Target, request: RequestShape, times: { connections: number; seconds: number }): Promise<LoadResult>;
}

/** wrk, which costs the least beside the upstream, or where there is none a generator of our own. */
export function chooseLoad(children: Children, clients: Clients, folder: string): Load {
  const wrk = findProgram('wrk');
  return wrk === undefined ? new BuiltInLoad(clients) : new WrkLoad(children, wrk, folder);
}

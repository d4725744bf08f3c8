import type { Machine } from './machine.ts';
import type { Peer } from './peer.ts';
import { pairedRatios, type Summary, summarize } from './statistics.ts';
import type { Workload } from './workload.ts';

/** One round of one peer under one workload. */
export interface Sample {
  readonly requests: number;
  readonly seconds: number;
  /** User and system time of the peer's process tree. */
  readonly cpuSeconds: number;
}

/** A peer under a workload: its samples, round for round, or why there are none. */
export type Outcome =
  | { readonly status: 'measured'; readonly samples: readonly Sample[] }
  | { readonly status: 'missing' | 'failed'; readonly reason: string };

export interface Entry {
  readonly peer: Peer;
  readonly workload: Workload;
  readonly outcome: Outcome;
}

/** All that a run of the benchmark has found out. */
export interface Result {
  readonly machine: Machine;
  readonly rounds: number;
  /** Length of one round of one peer under one workload. */
  readonly seconds: number;
  readonly entries: readonly Entry[];
}

export interface Figures {
  /** CPU-µs per request. */
  readonly cpuMicros: Summary;
  /** Requests per second. */
  readonly rate: Summary;
  /** CPU per request as a multiple of the reference's in the same round; undefined when that was not measured. */
  readonly ratio: Summary | undefined;
}

export function cpuMicrosOf({ cpuSeconds, requests }: Sample): number {
  return (cpuSeconds * 1e6) / requests;
}

/** The figures of one entry; undefined when it was not measured. */
export function figuresOf(entries: readonly Entry[], entry: Entry, reference: Peer): Figures | undefined {
  if (entry.outcome.status !== 'measured') return undefined;
  const { samples } = entry.outcome;
  const other = entries.find(({ peer, workload }) => peer === reference && workload === entry.workload)?.outcome;
  const costs = samples.map(cpuMicrosOf);
  return {
    cpuMicros: summarize(costs),
    rate: summarize(samples.map(({ requests, seconds }) => requests / seconds)),
    ratio: other?.status === 'measured' ? pairedRatios(costs, other.samples.map(cpuMicrosOf)) : undefined,
  };
}

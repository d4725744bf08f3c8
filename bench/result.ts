import type { Machine } from './machine.ts';
import type { Peer } from './peer.ts';
import { type Latency, pairedRatios, type Summary, summarize } from './statistics.ts';
import type { Workload } from './workload.ts';

/** One round of one peer under one workload. */
export interface Sample {
  /** What came of it, in the workload's unit. */
  readonly units: number;
  readonly seconds: number;
  /** User and system time of the peer's process tree. */
  readonly cpuSeconds: number;
  /** The most memory the peer's processes had resident during the round, in bytes, added up. */
  readonly peakRss: number;
  readonly latency?: Latency;
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
  /** When the run was started. */
  readonly date: Date;
  readonly rounds: number;
  /** Length of one round of one peer under one workload. */
  readonly seconds: number;
  /** Requests per second of the workload at a fixed rate. */
  readonly rate: number;
  readonly entries: readonly Entry[];
}

/** What is compared between peers, of one round. */
export const MEASURES = {
  /** CPU-µs per unit. */
  cpu: ({ cpuSeconds, units }: Sample) => (cpuSeconds * 1e6) / units,
  /** Units per second. */
  rate: ({ units, seconds }: Sample) => units / seconds,
  /** Peak resident memory, MB. */
  rss: ({ peakRss }: Sample) => peakRss / 1e6,
  /** Milliseconds; NaN where the workload does not tell. */
  p50: ({ latency }: Sample) => latency?.p50 ?? Number.NaN,
  p99: ({ latency }: Sample) => latency?.p99 ?? Number.NaN,
  p999: ({ latency }: Sample) => latency?.p999 ?? Number.NaN,
};

export type Measure = keyof typeof MEASURES;

/** One measure of an entry over its rounds; undefined when it was not measured. */
export function summaryOf({ outcome }: Entry, measure: Measure): Summary | undefined {
  if (outcome.status !== 'measured') return undefined;
  const values = outcome.samples.map(MEASURES[measure]);
  return values.some(Number.isNaN) ? undefined : summarize(values);
}

/** One measure of an entry as a multiple of another's in the same round; undefined when either was not measured. */
export function ratioOf(entry: Entry, reference: Entry | undefined, measure: Measure): Summary | undefined {
  const [ours, theirs] = [entry.outcome, reference?.outcome];
  if (ours.status !== 'measured' || theirs?.status !== 'measured') return undefined;
  const values = ours.samples.map(MEASURES[measure]);
  const references = theirs.samples.map(MEASURES[measure]);
  return [...values, ...references].some(Number.isNaN) ? undefined : pairedRatios(values, references);
}

/** The same of the least disturbed round of each: what else a machine does adds to a figure and never takes from it. */
export function bestRatioOf(entry: Entry, reference: Entry | undefined, measure: Measure): number | undefined {
  const theirs = reference && summaryOf(reference, measure);
  const ours = summaryOf(entry, measure);
  return ours && theirs && ours.min / theirs.min;
}

export function entryOf(entries: readonly Entry[], peer: Peer, workload: Workload): Entry | undefined {
  return entries.find((entry) => entry.peer === peer && entry.workload === workload);
}

import type { Peer } from './peer.ts';
import { type Entry, figuresOf } from './result.ts';
import type { Workload } from './workload.ts';

/** The full job may cost at most this share of the CPU that the reference takes for none. */
export const TARGET = 0.6;

export interface Verdict {
  /** Median; undefined when one of the two sides was not measured. */
  readonly ratio: number | undefined;
  /** Names of the required peers that failed. */
  readonly failed: readonly string[];
  readonly passed: boolean;
}

/** What the target is about: `subject` against `reference` under `workload`. */
export interface Contest {
  readonly subject: Peer;
  readonly reference: Peer;
  readonly workload: Workload;
}

/** A ratio that was not asked for fails nothing; one that should be there and is not comes from a peer that failed. */
export function judge(entries: readonly Entry[], { subject, reference, workload }: Contest): Verdict {
  const entry = entries.find((one) => one.peer === subject && one.workload === workload);
  const ratio = entry && figuresOf(entries, entry, reference)?.ratio?.median;
  const failed = entries.filter(({ peer, outcome }) => peer.required && outcome.status === 'failed');
  return {
    ratio,
    failed: [...new Set(failed.map(({ peer }) => peer.name))],
    passed: failed.length === 0 && (ratio === undefined || ratio <= TARGET),
  };
}

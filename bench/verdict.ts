import type { Entry } from './result.ts';
import { judgeTarget, type Target, type TargetResult } from './target.ts';

export interface Verdict {
  readonly targets: readonly TargetResult[];
  /** Names of the required peers that failed. */
  readonly failed: readonly string[];
  readonly passed: boolean;
}

/** A target that could not be measured fails nothing; where it should have been, a required peer failed. */
export function judge(entries: readonly Entry[], targets: readonly Target[], cpus: number): Verdict {
  const results = targets.map((target) => judgeTarget(target, entries, cpus));
  const failed = entries.filter(({ peer, outcome }) => peer.required && outcome.status === 'failed');
  return {
    targets: results,
    failed: [...new Set(failed.map(({ peer }) => peer.name))],
    passed: failed.length === 0 && results.every(({ outcome }) => outcome !== 'missed'),
  };
}

import type { Outcome } from './check.ts';

/** One run, for every form of report. */
export interface Report {
  /** What was checked: a URL, or words for a gateway of our own. */
  readonly subject: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly ms: number;
  readonly outcomes: readonly Outcome[];
}

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export function countsOf(outcomes: readonly Outcome[]): Counts {
  const count = (status: Outcome['status']) => outcomes.filter((outcome) => outcome.status === status).length;
  return { passed: count('passed'), failed: count('failed'), skipped: count('skipped') };
}

import type { Peer } from './peer.ts';
import { type Entry, entryOf, type Measure, ratioOf, summaryOf } from './result.ts';
import type { Workload } from './workload.ts';

/** A promise about a measure of one peer: as a multiple of another peer's in the same run, or as it stands. */
export interface Target {
  readonly subject: Peer;
  readonly workload: Workload;
  readonly measure: Measure;
  /** Left out: the figure itself is bounded, in its unit. */
  readonly reference?: Peer;
  readonly atMost?: number;
  readonly atLeast?: number;
  /** CPUs that the subject must have to itself for the promise to make sense; 1 when left out. */
  readonly cpus?: number;
}

export interface TargetResult {
  readonly target: Target;
  readonly outcome: 'met' | 'missed' | 'not measured';
  /** Median over the rounds. */
  readonly value?: number;
  /** Why it was not measured. */
  readonly why?: string;
}

/** `cpus`: how many CPUs are pinned for a peer of several processes. */
export function judgeTarget(target: Target, entries: readonly Entry[], cpus: number): TargetResult {
  const { subject, workload, measure, reference, atMost = Number.POSITIVE_INFINITY, atLeast = 0 } = target;
  const notMeasured = (why: string): TargetResult => ({ target, outcome: 'not measured', why });
  if ((target.cpus ?? 1) > cpus)
    return notMeasured(`${subject.name} needs ${target.cpus} CPUs to itself, there are ${cpus}`);
  const missing = [subject, ...(reference ? [reference] : [])].map((peer) => whyMissing(entries, peer, workload));
  const why = missing.find((reason) => reason !== undefined);
  if (why !== undefined) return notMeasured(why);
  const entry = entryOf(entries, subject, workload) as Entry;
  const summary = reference
    ? ratioOf(entry, entryOf(entries, reference, workload), measure)
    : summaryOf(entry, measure);
  if (summary === undefined) return notMeasured(`${workload.name} does not tell ${measure}`);
  const value = summary.median;
  return { target, outcome: value <= atMost && value >= atLeast ? 'met' : 'missed', value };
}

function whyMissing(entries: readonly Entry[], peer: Peer, workload: Workload): string | undefined {
  const outcome = entryOf(entries, peer, workload)?.outcome;
  if (outcome === undefined) return `${peer.name} under ${workload.name} was not asked for`;
  return outcome.status === 'measured' ? undefined : `${peer.name} is ${outcome.status}`;
}

import type { Peer } from './peer.ts';
import { figuresOf, type Result } from './result.ts';
import { TARGET, type Verdict } from './verdict.ts';

/** The result as JSON for later comparison: raw samples and the figures made of them. */
export function json(result: Result, reference: Peer, verdict: Verdict): string {
  const { machine, rounds, seconds, entries } = result;
  const report = {
    machine,
    rounds,
    seconds,
    reference: reference.name,
    results: entries.map((entry) => ({
      peer: entry.peer.name,
      workload: entry.workload.name,
      ...entry.outcome,
      ...figuresOf(entries, entry, reference),
    })),
    verdict: { ratio: verdict.ratio ?? null, target: TARGET, failed: verdict.failed, passed: verdict.passed },
  };
  return `${JSON.stringify(report, undefined, 2)}\n`;
}

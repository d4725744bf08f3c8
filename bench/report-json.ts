import type { Peer } from './peer.ts';
import { titleOf } from './report.ts';
import { entryOf, type Measure, type Result, ratioOf, summaryOf } from './result.ts';
import type { Verdict } from './verdict.ts';

/** The result as JSON for later comparison: raw samples and the figures made of them. */
export function json(result: Result, reference: Peer, verdict: Verdict): string {
  const { machine, date, rounds, seconds, rate, entries } = result;
  const report = {
    machine,
    date,
    rounds,
    seconds,
    rate,
    reference: reference.name,
    results: entries.map((entry) => {
      const summary = (measure: Measure) => summaryOf(entry, measure);
      return {
        peer: entry.peer.name,
        workload: entry.workload.name,
        unit: entry.workload.unit,
        ...entry.outcome,
        cpuMicros: summary('cpu'),
        rate: summary('rate'),
        peakRssMb: summary('rss'),
        p50: summary('p50'),
        p99: summary('p99'),
        p999: summary('p999'),
        ratio: ratioOf(entry, entryOf(entries, reference, entry.workload), 'cpu'),
      };
    }),
    targets: verdict.targets.map((each) => {
      const { outcome, value, why } = each;
      return { target: titleOf(each), outcome, value, why };
    }),
    failed: verdict.failed,
    passed: verdict.passed,
  };
  return `${JSON.stringify(report, undefined, 2)}\n`;
}

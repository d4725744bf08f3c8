import type { Peer } from './peer.ts';
import { type Entry, entryOf, summaryOf } from './result.ts';
import type { Workload } from './workload.ts';

/** Requests per second where nothing is known of what the reference can carry. */
const UNKNOWN = 2000;

/** Half of what the reference carried under a workload: it then has time to spare, and so has all that is faster. */
export function halfLoad(entries: readonly Entry[], reference: Peer, workload: Workload): number {
  const entry = entryOf(entries, reference, workload);
  const rate = entry && summaryOf(entry, 'rate');
  return rate === undefined ? UNKNOWN : Math.round(rate.median / 2);
}

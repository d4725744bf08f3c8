import type { RetrySettings } from '../tenant.ts';
import { RecentShare } from './recent-share.ts';

/**
 * Keeps retries a small share of the requests: an upstream that fails under its load must not get several times that load
 * because it fails.
 */
export class RetryBudget {
  readonly #recent = new RecentShare();
  /** Since the process started. */
  readonly totals = { sent: 0, denied: 0 };

  /** A request was sent for the first time. */
  request(now: number): void {
    this.#recent.count(now);
  }

  /** Whether one more retry may be made; it counts as made then. */
  take({ ratio, minimum }: RetrySettings, now: number): boolean {
    const { all, marked } = this.#recent.read(now);
    if (marked + 1 > minimum + ratio * all) {
      this.totals.denied++;
      return false;
    }
    this.#recent.mark(now);
    this.totals.sent++;
    return true;
  }
}

import type { BreakerSettings } from '../tenant.ts';
import { RecentShare } from './recent-share.ts';

export type BreakerState = 'closed' | 'half-open' | 'open';

/** How long a trial without an answer keeps others from being made, in milliseconds. */
const TRIAL = 10_000;
/** By how much of itself an opening may be shorter, so that several gateways do not come back at one moment. */
const JITTER = 0.25;

/**
 * Keeps requests from an endpoint that fails. Closed, it lets all through and watches; open, none; half-open, one at a time,
 * whose answer closes it and whose failure opens it again for twice as long. `now` is epoch milliseconds throughout.
 */
export class Breaker {
  readonly #changed: (from: BreakerState, to: BreakerState, now: number) => void;
  readonly #recent = new RecentShare();
  #state: BreakerState = 'closed';
  #since = 0;
  #failures = 0;
  #failuresInRow = 0;
  #openingsInRow = 0;
  #openUntil = 0;
  #trialUntil = 0;
  /** How often each state was entered since the process started. */
  readonly entered: Record<BreakerState, number> = { closed: 0, 'half-open': 0, open: 0 };

  constructor(changed: (from: BreakerState, to: BreakerState, now: number) => void) {
    this.#changed = changed;
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** Epoch milliseconds of the last change; 0 before the first. */
  get since(): number {
    return this.#since;
  }

  /** Since the process started. */
  get failures(): number {
    return this.#failures;
  }

  /** Whether an attempt may be made. `awaitsProbe`: once open, a health check and no request is what finds it well again. */
  admits(now: number, awaitsProbe: boolean): boolean {
    if (this.#state === 'closed') return true;
    return !(awaitsProbe && this.#state === 'open') && this.admittedFrom(now) <= now;
  }

  /** When the next attempt may be made, epoch milliseconds; no later than now when the clock was set back meanwhile. */
  admittedFrom(now: number): number {
    if (this.#state === 'closed' || now < this.#since) return now;
    return this.#state === 'open' ? this.#openUntil : this.#trialUntil;
  }

  /** An attempt begins that was admitted. Gives whether it is a trial. */
  begin(now: number): boolean {
    if (this.#state === 'closed') return false;
    if (this.#state === 'open') this.#enter('half-open', now);
    this.#trialUntil = now + TRIAL;
    return true;
  }

  /** A health check found the endpoint well. */
  probed(now: number): void {
    if (this.#state !== 'open') return;
    this.#enter('half-open', now);
    this.#trialUntil = 0;
  }

  succeeded(isTrial: boolean, now: number): void {
    if (this.#state === 'closed') {
      this.#failuresInRow = 0;
      this.#recent.count(now);
    } else if (isTrial && this.#state === 'half-open') {
      this.#failuresInRow = 0;
      this.#openingsInRow = 0;
      this.#recent.clear();
      this.#enter('closed', now);
    }
  }

  /** `inRow`: it may be one of several failures in a row. The share of failures it belongs to in any case. */
  failed(isTrial: boolean, inRow: boolean, settings: BreakerSettings, now: number): void {
    this.#failures++;
    if (this.#state === 'closed') {
      if (inRow) this.#failuresInRow++;
      this.#recent.count(now);
      this.#recent.mark(now);
      if (this.#isTooMuch(settings, now)) this.#open(settings, now);
    } else if (isTrial && this.#state === 'half-open') {
      this.#open(settings, now);
    }
  }

  /** An attempt ended without saying anything about the endpoint. */
  abandoned(isTrial: boolean): void {
    if (isTrial && this.#state === 'half-open') this.#trialUntil = 0;
  }

  #isTooMuch({ failures, ratio, volume }: BreakerSettings, now: number): boolean {
    if (this.#failuresInRow >= failures) return true;
    const { all, marked } = this.#recent.read(now);
    return all >= volume && marked >= ratio * all;
  }

  #open({ open, longestOpen }: BreakerSettings, now: number): void {
    const length = Math.min(longestOpen, open * 2 ** this.#openingsInRow++);
    this.#openUntil = now + length * (1 - JITTER * Math.random());
    this.#enter('open', now);
  }

  #enter(state: BreakerState, now: number): void {
    const from = this.#state;
    this.#state = state;
    this.#since = now;
    this.entered[state]++;
    this.#changed(from, state, now);
  }
}

import type { RateLimit } from '../snapshot.ts';

/** Where a caller stands with one of the edge's limits. */
export interface Standing {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Whole seconds until the window has moved on by so much that a request is free again, at least 1. */
  readonly reset: number;
  /** Length of the window in whole seconds. */
  readonly window: number;
}

/** The standing with one of the limits, and the name it goes by in `RateLimit`. */
export interface NamedStanding {
  readonly name: string;
  readonly standing: Standing;
}

interface Count {
  /** Start of the current window, epoch milliseconds. */
  start: number;
  current: number;
  previous: number;
}

/** Keys counted at once; past that the oldest are forgotten, which errs towards letting a request through. */
const CAPACITY = 100_000;

/**
 * Counts requests per key over a sliding window, in this process: the count of the current window plus the share of the
 * previous one that is still in sight. One map lookup per request; no timer, no I/O.
 */
export class SlidingLimit {
  readonly #rate: RateLimit;
  readonly #counts = new Map<string, Count>();

  constructor(rate: RateLimit) {
    this.#rate = rate;
  }

  /** Counts one request of `key` at `now` (epoch milliseconds), unless the limit is used up. */
  take(key: string, now: number): Standing {
    const { requests, window } = this.#rate;
    const count = this.#countOf(key, now);
    const used = count.current + count.previous * (1 - (now - count.start) / window);
    const allowed = used + 1 <= requests;
    if (allowed) count.current++;
    return {
      allowed,
      limit: requests,
      remaining: Math.max(0, Math.floor(requests - used - (allowed ? 1 : 0))),
      reset: Math.max(1, Math.ceil((count.start + window - now) / 1000)),
      window: Math.ceil(window / 1000),
    };
  }

  #countOf(key: string, now: number): Count {
    const { window } = this.#rate;
    let count = this.#counts.get(key);
    if (count === undefined) {
      if (this.#counts.size >= CAPACITY) this.#forgetOldest();
      count = { start: now, current: 0, previous: 0 };
      this.#counts.set(key, count);
      return count;
    }
    const age = now - count.start;
    if (age >= window) {
      count.previous = age < 2 * window ? count.current : 0;
      count.current = 0;
      count.start = now - (age % window);
    }
    return count;
  }

  #forgetOldest(): void {
    const oldest = this.#counts.keys().next();
    if (!oldest.done) this.#counts.delete(oldest.value);
  }
}

/** `X-RateLimit-*` as the Service speaks them (service-api.md §8). */
export function rateHeaders(standing: Standing): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(standing.limit),
    'X-RateLimit-Remaining': String(standing.remaining),
    'X-RateLimit-Reset': String(standing.reset),
  };
}

/** The edge's own limit in the terms of draft-ietf-httpapi-ratelimit-headers. */
export function policyHeaders({ name, standing }: NamedStanding): Record<string, string> {
  return {
    RateLimit: `"${name}";r=${standing.remaining};t=${standing.reset}`,
    'RateLimit-Policy': `"${name}";q=${standing.limit};w=${standing.window}`,
  };
}

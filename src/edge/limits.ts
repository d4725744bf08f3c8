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
  /** Part of `current` that the other processes have not been told of. */
  untold: number;
}

/** The limits there are. */
export type LimitName = 'address' | 'session' | 'tenant' | 'session-creation';

/** Requests that one process has let through, for the others that count the same keys. Instants are epoch milliseconds. */
export interface LimitNews {
  readonly limit: LimitName;
  readonly key: string;
  /** Start and length of the window they fall into. */
  readonly start: number;
  readonly window: number;
  readonly count: number;
}

/** How processes that share their limits tell one another what they have counted. */
export interface LimitExchange {
  /** How many processes count. */
  readonly parties: number;
  tell(news: LimitNews): void;
  /** Calls `hear` with what others tell, from now on. */
  connect(hear: (news: readonly LimitNews[]) => void): void;
}

/** Of a limit, what all processes together may not have told each other yet. */
const UNTOLD_SHARE = 1 / 20;

/** Keys counted at once; past that the oldest are forgotten, which errs towards letting a request through. */
const CAPACITY = 100_000;

/**
 * Counts requests per key over a sliding window, in this process: the count of the current window plus the share of the
 * previous one that is still in sight. One map lookup per request; no timer, no I/O. With an exchange the limit holds over
 * all processes: each tells of a key whenever it has counted a small part of the limit, so that far from the limit next
 * to nothing is sent, and together they exceed it by a tenth at most, and by what passes while news are on their way.
 */
export class SlidingLimit {
  readonly #rate: RateLimit;
  readonly #name: LimitName;
  readonly #exchange: LimitExchange | undefined;
  readonly #tellAt: number;
  readonly #counts = new Map<string, Count>();

  constructor(rate: RateLimit, name: LimitName = 'address', exchange?: LimitExchange) {
    this.#rate = rate;
    this.#name = name;
    this.#exchange = exchange;
    this.#tellAt =
      exchange === undefined
        ? Number.POSITIVE_INFINITY
        : Math.max(1, Math.floor((rate.requests * UNTOLD_SHARE) / exchange.parties));
  }

  /** Counts one request of `key` at `now` (epoch milliseconds), unless the limit is used up. */
  take(key: string, now: number): Standing {
    const { requests, window } = this.#rate;
    const count = this.#countOf(key, now);
    const used = count.current + count.previous * (1 - (now - count.start) / window);
    const allowed = used + 1 <= requests;
    if (allowed) {
      count.current++;
      if (++count.untold >= this.#tellAt) this.#tell(key, count);
    }
    return {
      allowed,
      limit: requests,
      remaining: Math.max(0, Math.floor(requests - used - (allowed ? 1 : 0))),
      reset: Math.max(1, Math.ceil((count.start + window - now) / 1000)),
      window: Math.ceil(window / 1000),
    };
  }

  /** Takes what another process has counted into account. What has slid out of sight by `now` counts no more. */
  hear({ key, start, window, count: added }: LimitNews, now: number): void {
    if (window !== this.#rate.window) return;
    const count = this.#countOf(key, now);
    if (start === count.start) count.current += added;
    else if (start === count.start - window) count.previous += added;
  }

  #tell(key: string, count: Count): void {
    const { start, untold } = count;
    count.untold = 0;
    this.#exchange?.tell({ limit: this.#name, key, start, window: this.#rate.window, count: untold });
  }

  #countOf(key: string, now: number): Count {
    const { window } = this.#rate;
    let count = this.#counts.get(key);
    if (count === undefined) {
      if (this.#counts.size >= CAPACITY) this.#forgetOldest();
      // Processes that add up their counts have to mean the same windows.
      const start = this.#exchange === undefined ? now : now - (now % window);
      count = { start, current: 0, previous: 0, untold: 0 };
      this.#counts.set(key, count);
      return count;
    }
    const age = now - count.start;
    if (age >= window) {
      count.previous = age < 2 * window ? count.current : 0;
      count.current = 0;
      count.untold = 0;
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

import type { KeypairRecord } from './keyring.ts';

/** The outcome of one request against its quota (service-api.md §8). */
export interface Rate {
  readonly admitted: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the window frees a request, rounded up. */
  readonly reset: number;
}

export function rateHeaders(rate: Rate): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(rate.limit),
    'X-RateLimit-Remaining': String(rate.remaining),
    'X-RateLimit-Reset': String(rate.reset),
  };
}

/** The instants of the requests of one rolling window, oldest first: a ring that grows to the limit and no further. */
class RequestLog {
  #times = new Float64Array(16);
  #head = 0;
  #count = 0;

  /** Counts a request at `now` if the `window` (ms) before it has room for one. A refused request is not counted. */
  admit(now: number, limit: number, window: number): Rate {
    while (this.#count > 0 && now - this.#oldest() >= window) {
      this.#head = (this.#head + 1) % this.#times.length;
      this.#count--;
    }
    const admitted = this.#count < limit;
    if (admitted) this.#append(now);
    const reset = Math.ceil((this.#oldest() + window - now) / 1000);
    return { admitted, limit, remaining: limit - this.#count, reset };
  }

  #oldest(): number {
    return this.#times[this.#head] ?? 0;
  }

  #append(now: number): void {
    if (this.#count === this.#times.length) {
      const grown = new Float64Array(this.#times.length * 2);
      grown.set(this.#times.subarray(this.#head));
      grown.set(this.#times.subarray(0, this.#head), this.#times.length - this.#head);
      this.#times = grown;
      this.#head = 0;
    }
    this.#times[(this.#head + this.#count) % this.#times.length] = now;
    this.#count++;
  }
}

/** Addresses remembered at a time: past this the one that asked longest ago starts afresh, which bounds the memory. */
const MAX_ADDRESSES = 256;

/**
 * Quotas of verified requests by access key, and of all others by client address, so that whoever cannot sign for a key
 * cannot use up its quota either.
 */
export class RateLimiter {
  readonly #requests: number;
  readonly #window: number;
  readonly #byKeypair = new WeakMap<KeypairRecord, RequestLog>();
  readonly #byAddress = new Map<string, RequestLog>();

  /** `requests` in any `window` milliseconds. */
  constructor(limit: { readonly requests: number; readonly window: number }) {
    this.#requests = limit.requests;
    this.#window = limit.window;
  }

  forKeypair(record: KeypairRecord, now: number): Rate {
    let log = this.#byKeypair.get(record);
    if (log === undefined) {
      log = new RequestLog();
      this.#byKeypair.set(record, log);
    }
    return log.admit(now, record.rateLimit, this.#window);
  }

  forAddress(address: string, now: number): Rate {
    const log = this.#byAddress.get(address) ?? new RequestLog();
    this.#byAddress.delete(address);
    this.#byAddress.set(address, log);
    if (this.#byAddress.size > MAX_ADDRESSES) {
      const [stalest] = this.#byAddress.keys();
      if (stalest !== undefined) this.#byAddress.delete(stalest);
    }
    return log.admit(now, this.#requests, this.#window);
  }
}

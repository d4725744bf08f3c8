import type { ProblemCode } from '../problem.ts';
import type { RateLimit } from '../snapshot.ts';

/** Events whose number is up to whoever attacks. */
export type LimitedEvent = 'refusal' | 'login-failed';

/** How many were counted instead of written. */
export interface Suppressed {
  readonly event: LimitedEvent;
  readonly code: ProblemCode;
  readonly tenant: string | undefined;
  readonly count: number;
  readonly seconds: number;
}

interface Window {
  readonly event: LimitedEvent;
  readonly code: ProblemCode;
  readonly tenant: string | undefined;
  start: number;
  written: number;
  suppressed: number;
}

/**
 * Keeps an attack from filling the disk: so many lines per event, code and tenant in a window of time, then one line that
 * counts the rest. Codes and tenants are few and not the caller's to choose, so neither are the windows.
 */
export class AuditLimit {
  readonly #limit: RateLimit;
  readonly #clock: () => number;
  readonly #summarise: (suppressed: Suppressed) => void;
  readonly #windows = new Map<string, Window>();
  #timer: NodeJS.Timeout | undefined;

  constructor(limit: RateLimit, clock: () => number, summarise: (suppressed: Suppressed) => void) {
    this.#limit = limit;
    this.#clock = clock;
    this.#summarise = summarise;
  }

  /** Whether the event is to be written; if not it has been counted. */
  admits(event: LimitedEvent, code: ProblemCode, tenant: string | undefined): boolean {
    const now = this.#clock();
    const window = this.#windowOf(event, code, tenant, now);
    if (now - window.start >= this.#limit.window) {
      this.#close(window);
      window.start = now;
      window.written = 0;
    }
    if (window.written < this.#limit.requests) {
      window.written++;
      return true;
    }
    window.suppressed++;
    // The attack may stop here: what was counted is told once the window is over, whether or not more comes.
    this.#timer ??= setTimeout(() => this.report(), this.#limit.window).unref();
    return false;
  }

  /** Tells all that has been counted so far. */
  report(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const window of this.#windows.values()) this.#close(window);
  }

  #windowOf(event: LimitedEvent, code: ProblemCode, tenant: string | undefined, start: number): Window {
    const key = `${event} ${code} ${tenant ?? ''}`;
    const known = this.#windows.get(key);
    if (known !== undefined) return known;
    const window = { event, code, tenant, start, written: 0, suppressed: 0 };
    this.#windows.set(key, window);
    return window;
  }

  #close(window: Window): void {
    const { event, code, tenant, suppressed: count } = window;
    if (count === 0) return;
    window.suppressed = 0;
    this.#summarise({ event, code, tenant, count, seconds: Math.max(1, Math.ceil(this.#limit.window / 1000)) });
  }
}

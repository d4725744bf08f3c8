import { expiresAt, type Session } from './session.ts';
import type { SessionStore } from './store.ts';

/** setTimeout fires at once for a longer delay. */
const LONGEST_DELAY = 2 ** 31 - 1;
/** How long an ended key is remembered for streams that are still being set up; far longer than that ever takes. */
const REMEMBERED = 5 * 60_000;

interface Live {
  readonly tenant: string;
  readonly closers: Set<() => void>;
  timer: NodeJS.Timeout;
}

/**
 * The open WebSockets and event streams of each session. They outlive the request that was judged, so they are closed
 * when their session is ended, on this process or another, and when it reaches its absolute expiry.
 */
export class LiveStreams {
  readonly #live = new Map<string, Live>();
  /** Key → when it ended, oldest first. */
  readonly #ended = new Map<string, number>();
  /** Tenants that are no more. */
  #endedTenants: ReadonlySet<string> = new Set();
  readonly #clock: () => number;
  readonly #unsubscribe: () => void;

  constructor(options: { store: Pick<SessionStore, 'onEnded'>; clock: () => number }) {
    this.#clock = options.clock;
    this.#unsubscribe = options.store.onEnded((key) => this.#onEnded(key));
  }

  /**
   * Registers an open stream; `close` must break it at once and must not throw. Gives what to call when the stream ends
   * by itself. The stream of a session or a tenant that was ended while it was being set up is closed in the next microtask.
   */
  add(session: Session, close: () => void): () => void {
    const { key } = session;
    if (this.#ended.has(key) || this.#endedTenants.has(session.tenant) || expiresAt(session) <= this.#clock()) {
      let wanted = true;
      queueMicrotask(() => wanted && close());
      return () => {
        wanted = false;
      };
    }
    const live = this.#live.get(key) ?? this.#open(session);
    // A closer of its own, so that the same function registered twice counts twice.
    const closer = () => close();
    live.closers.add(closer);
    return () => {
      if (live.closers.delete(closer) && live.closers.size === 0) this.#forget(key, live);
    };
  }

  /** Closes every stream of these tenants, and from now on any that is still being set up. Takes the place of an earlier call. */
  endTenants(names: ReadonlySet<string>): void {
    this.#endedTenants = names;
    for (const [key, { tenant }] of [...this.#live]) if (names.has(tenant)) this.#closeAll(key);
  }

  /** How many streams are open. */
  get count(): number {
    let count = 0;
    for (const { closers } of this.#live.values()) count += closers.size;
    return count;
  }

  /** Closes every stream and stops listening: the last step of a shutdown. */
  close(): void {
    this.#unsubscribe();
    for (const key of [...this.#live.keys()]) this.#closeAll(key);
  }

  #open(session: Session): Live {
    const live: Live = { tenant: session.tenant, closers: new Set(), timer: this.#closeAtExpiry(session) };
    this.#live.set(session.key, live);
    return live;
  }

  #closeAtExpiry(session: Session): NodeJS.Timeout {
    const remaining = expiresAt(session) - this.#clock();
    const timer = setTimeout(
      () => {
        const live = this.#live.get(session.key);
        if (live === undefined) return;
        if (expiresAt(session) <= this.#clock()) this.#closeAll(session.key);
        else live.timer = this.#closeAtExpiry(session);
      },
      Math.min(remaining, LONGEST_DELAY),
    );
    return timer.unref();
  }

  #onEnded(key: string): void {
    const now = this.#clock();
    for (const [old, at] of this.#ended) {
      if (now - at < REMEMBERED) break;
      this.#ended.delete(old);
    }
    this.#ended.delete(key);
    this.#ended.set(key, now);
    this.#closeAll(key);
  }

  #closeAll(key: string): void {
    const live = this.#live.get(key);
    if (live === undefined) return;
    this.#forget(key, live);
    for (const closer of live.closers) closer();
  }

  #forget(key: string, live: Live): void {
    clearTimeout(live.timer);
    this.#live.delete(key);
  }
}

import type { NearCacheState } from './near-cache.ts';
import type { Session } from './session.ts';

/** Whose sessions: one subject's, or, without a subject, all of the tenant's. */
export interface SessionOwner {
  readonly tenant: string;
  readonly subject?: string;
}

/**
 * Where sessions are kept. Every method rejects with Problem `session-store-unavailable` when the store cannot answer:
 * a store never says "no such session" for want of an answer.
 */
export interface SessionStore {
  /**
   * The record under a key. Synchronous where the store can answer from memory. Does not judge liveness beyond the
   * store's own expiry.
   */
  get(key: string): Session | undefined | Promise<Session | undefined>;
  create(session: Session): Promise<void>;
  /** Records a use at `seenAt` (epoch milliseconds); never revives a session that was ended meanwhile. */
  touch(session: Session, seenAt: number): Promise<void>;
  /** Ends one session; gives whether there was one. Listeners hear of the key in either case. */
  end(key: string): Promise<boolean>;
  list(owner: SessionOwner): Promise<Session[]>;
  /** How many there are, without reading them: may count those that have idled out but not reached their absolute expiry. */
  count(owner: SessionOwner): number | Promise<number>;
  /** Ends all of an owner's sessions but the one with the key `except`; gives how many. */
  endAll(owner: SessionOwner, except?: string): Promise<number>;
  /**
   * Called with the key of every session ended explicitly, on this process or another; more than once for the same key
   * where delivery is in doubt. Listeners must not throw. Returns the unsubscribe.
   */
  onEnded(listener: (key: string) => void): () => void;
  /** Whether the store can answer at the moment; what readiness reports. */
  readonly ready: boolean;
  /** Of a store that keeps sessions in this process besides. */
  readonly nearCache?: NearCacheState | undefined;
  close(): Promise<void>;
}

import { Problem } from '../problem.ts';
import { isLive, type Session } from './session.ts';
import type { SessionOwner, SessionStore } from './store.ts';

/** Milliseconds between two sweeps while there is room. */
const SWEEP_EVERY = 60_000;
/** The same when the store is full: a flood of logins must not turn into a sweep of everything per login. */
const SWEEP_EVERY_FULL = 1_000;

export interface MemoryStoreOptions {
  readonly clock: () => number;
  /** How many sessions there may be. At the limit new ones are refused; nobody's session is dropped for another's. */
  readonly capacity: number;
}

export interface MemoryStore extends SessionStore {
  get(key: string): Session | undefined;
  /** Every live session. */
  all(): Session[];
}

/** Sessions of one process, gone when it stops. Answers at once. */
export function createMemoryStore(options: MemoryStoreOptions): MemoryStore {
  const { clock, capacity } = options;
  const sessions = new Map<string, Session>();
  const listeners = new Set<(key: string) => void>();
  let sweptAt = clock();

  /** Only creation adds entries, so sweeping then is enough to keep the expired ones from piling up. */
  function sweep(now: number): void {
    if (now - sweptAt < (sessions.size < capacity ? SWEEP_EVERY : SWEEP_EVERY_FULL)) return;
    sweptAt = now;
    for (const [key, session] of sessions) if (!isLive(session, now)) sessions.delete(key);
  }

  function find(key: string): Session | undefined {
    const session = sessions.get(key);
    if (session === undefined || isLive(session, clock())) return session;
    sessions.delete(key);
    return undefined;
  }

  function listOf(owner: SessionOwner): Session[] {
    const now = clock();
    return [...sessions.values()].filter((session) => isOwnedBy(session, owner) && isLive(session, now));
  }

  function end(key: string): boolean {
    const found = find(key) !== undefined;
    sessions.delete(key);
    for (const listener of listeners) listener(key);
    return found;
  }

  return {
    ready: true,
    get: find,
    all() {
      const now = clock();
      return [...sessions.values()].filter((session) => isLive(session, now));
    },
    async create(session) {
      sweep(clock());
      if (sessions.size >= capacity) {
        throw new Problem('session-store-unavailable', 'The gateway holds as many sessions as it may.', {
          headers: { 'Retry-After': '1' },
        });
      }
      sessions.set(session.key, session);
    },
    async touch(session, seenAt) {
      if (find(session.key) !== undefined) sessions.set(session.key, { ...session, seenAt });
    },
    async end(key) {
      return end(key);
    },
    async list(owner) {
      return listOf(owner);
    },
    count(owner) {
      const now = clock();
      let count = 0;
      for (const session of sessions.values()) if (isOwnedBy(session, owner) && isLive(session, now)) count++;
      return count;
    },
    async endAll(owner, except) {
      const ended = listOf(owner).filter(({ key }) => key !== except);
      for (const { key } of ended) end(key);
      return ended.length;
    },
    onEnded(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      sessions.clear();
      listeners.clear();
    },
  };
}

function isOwnedBy(session: Session, owner: SessionOwner): boolean {
  return session.tenant === owner.tenant && (owner.subject === undefined || session.subject === owner.subject);
}

import type { MemoryStore } from '../session/memory-store.ts';
import type { Session } from '../session/session.ts';
import type { SessionStore } from '../session/store.ts';
import { available } from './availability.ts';
import type { Channel } from './channel.ts';
import type { PrimaryCalls, WorkerCalls } from './messages.ts';

/** Tells all workers. The promises resolve when every one that has not ended meanwhile has done it. */
export interface Followers {
  put(session: Session): Promise<void>;
  drop(keys: readonly string[]): Promise<void>;
  touch(touch: { readonly key: string; readonly seenAt: number }): void;
}

export interface SharedSessions {
  readonly store: SessionStore;
  readonly calls: Pick<PrimaryCalls, 'createSession' | 'touchSession' | 'endSession' | 'endSessions'>;
}

/**
 * Sessions in memory with several workers: the primary has the last word, and every worker a copy that answers at once.
 * A login is answered when every worker knows the session, and a logout or revocation when every one has forgotten it:
 * whichever the next request meets, it finds the same.
 */
export function shareSessions(memory: MemoryStore, followers: Followers): SharedSessions {
  async function create(session: Session): Promise<void> {
    await memory.create(session);
    await followers.put(session);
  }

  async function ending<T>(end: () => Promise<T>): Promise<T> {
    const keys: string[] = [];
    const stop = memory.onEnded((key) => keys.push(key));
    // The store ends them before its promise settles, so the listener hears of these and of no others.
    const ended = end();
    stop();
    await followers.drop(keys);
    return ended;
  }

  async function touch(session: Pick<Session, 'key'>, seenAt: number): Promise<void> {
    const found = await memory.get(session.key);
    if (found === undefined) return;
    await memory.touch(found, seenAt);
    followers.touch({ key: session.key, seenAt });
  }

  return {
    store: {
      ...memory,
      create,
      touch,
      end: (key) => ending(() => memory.end(key)),
      endAll: (owner, except) => ending(() => memory.endAll(owner, except)),
    },
    calls: {
      createSession: create,
      touchSession: ({ key, seenAt }) => void touch({ key }, seenAt),
      endSession: (key) => ending(() => memory.end(key)),
      endSessions: ({ owner, except }) => ending(() => memory.endAll(owner, except)),
    },
  };
}

/** A worker's store of sessions that the primary keeps: reads its copy, and asks the primary for every change. */
export function followSessions(copy: MemoryStore, primary: Channel<PrimaryCalls, WorkerCalls>): SessionStore {
  return {
    ...copy,
    create: (session) => available(primary.call('createSession', session)),
    async touch({ key }, seenAt) {
      primary.tell('touchSession', { key, seenAt });
    },
    end: (key) => available(primary.call('endSession', key)),
    endAll: (owner, except) => available(primary.call('endSessions', { owner, except })),
  };
}

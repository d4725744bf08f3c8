import { hash, randomBytes } from 'node:crypto';
import type { Lifetime } from '../tenant.ts';
import { isLive, needsTouch, type Session } from './session.ts';
import type { SessionOwner, SessionStore } from './store.ts';

/** Who a new session is for. `subject` is undefined for an anonymous visitor. */
export interface SessionIdentity {
  readonly tenant: string;
  readonly subject: string | undefined;
  readonly roles: readonly string[];
  /** The login method that vouches for it. */
  readonly method: string;
  readonly lifetime: Lifetime;
}

/**
 * The store key of a cookie's id. The id's text is hashed, not its bytes: the last base64url character has two unused
 * bits, and four spellings of one id must not open the same session.
 */
export function sessionKey(id: string): string {
  return hash('sha256', id, 'base64url');
}

/** The rules of sessions over any store. */
export class Sessions {
  readonly #store: SessionStore;
  readonly #clock: () => number;
  /** Keys whose use is being written, so that parallel requests of one page write it once. */
  readonly #touching = new Set<string>();
  #created = 0;
  #ended = 0;

  constructor(options: { store: SessionStore; clock: () => number }) {
    this.#store = options.store;
    this.#clock = options.clock;
  }

  /**
   * The live session of `tenant` that a cookie's id stands for; a session of another tenant is none. Synchronous when
   * the store is. A use that cannot be written does not fail the request: the session only loses idle time.
   */
  resolve(id: string, tenant: string): Session | undefined | Promise<Session | undefined> {
    const found = this.#store.get(sessionKey(id));
    return found instanceof Promise
      ? found.then((session) => this.#judge(session, tenant))
      : this.#judge(found, tenant);
  }

  /**
   * Opens a session with a fresh 256-bit id. `previous`, the id the caller came with, is ended first: an id that was
   * known before the login (planted or stolen) is worth nothing after it.
   */
  async open(identity: SessionIdentity, previous?: string): Promise<{ id: string; session: Session }> {
    if (previous !== undefined) await this.end(sessionKey(previous));
    const id = randomBytes(32).toString('base64url');
    const now = this.#clock();
    const session: Session = {
      key: sessionKey(id),
      tenant: identity.tenant,
      subject: identity.subject,
      roles: identity.roles,
      method: identity.method,
      createdAt: now,
      seenAt: now,
      lifetime: identity.lifetime,
    };
    await this.#store.create(session);
    this.#created++;
    return { id, session };
  }

  /** Ends one session by its store key; gives whether there was one. */
  async end(key: string): Promise<boolean> {
    const wasThere = await this.#store.end(key);
    if (wasThere) this.#ended++;
    return wasThere;
  }

  /** An owner's live sessions, newest first. */
  async list(owner: SessionOwner): Promise<Session[]> {
    const now = this.#clock();
    const sessions = await this.#store.list(owner);
    return sessions.filter((session) => isLive(session, now)).sort((a, b) => b.createdAt - a.createdAt);
  }

  /** Ends all of an owner's sessions but the one with the key `except`; gives how many. */
  async endAll(owner: SessionOwner, except?: string): Promise<number> {
    const ended = await this.#store.endAll(owner, except);
    this.#ended += ended;
    return ended;
  }

  /** How many sessions an owner has; see `SessionStore.count`. */
  count(owner: SessionOwner): number | Promise<number> {
    return this.#store.count(owner);
  }

  /** Sessions opened and ended by this process since it started; those that run out by themselves are not counted. */
  get totals(): { readonly created: number; readonly ended: number } {
    return { created: this.#created, ended: this.#ended };
  }

  #judge(session: Session | undefined, tenant: string): Session | undefined {
    const now = this.#clock();
    if (session === undefined || session.tenant !== tenant || !isLive(session, now)) return undefined;
    if (!needsTouch(session, now)) return session;
    this.#touch(session, now);
    return { ...session, seenAt: now };
  }

  #touch(session: Session, now: number): void {
    const { key } = session;
    if (this.#touching.has(key)) return;
    this.#touching.add(key);
    const done = () => this.#touching.delete(key);
    this.#store.touch(session, now).then(done, done);
  }
}

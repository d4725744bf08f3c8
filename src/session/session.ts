import type { Lifetime } from '../tenant.ts';

/** What is remembered of a caller between requests. All instants are epoch milliseconds. */
export interface Session {
  /** base64url SHA-256 of the cookie's id: the store key, and all that logs and lists ever show. */
  readonly key: string;
  readonly tenant: string;
  /** The user's name; undefined for an anonymous visitor. */
  readonly subject: string | undefined;
  readonly roles: readonly string[];
  /** The login method that created it. */
  readonly method: string;
  readonly createdAt: number;
  /** When the session was last written as used; throttled, so it may lag behind the last request. */
  readonly seenAt: number;
  readonly lifetime: Lifetime;
}

/** When the session ends however busy it is. */
export function expiresAt(session: Session): number {
  return session.createdAt + session.lifetime.absolute;
}

/** When the session ends if nothing more is heard of it. */
export function idleExpiresAt(session: Session): number {
  return Math.min(session.seenAt + session.lifetime.idle, expiresAt(session));
}

export function isLive(session: Session, now: number): boolean {
  return now < idleExpiresAt(session);
}

/**
 * Whether a use at `now` should be written to the store. A busy session is written once a minute, or once in a
 * twentieth of its idle lifetime where that is shorter: it costs no write per request and loses little of its idle time.
 */
export function needsTouch(session: Session, now: number): boolean {
  return now - session.seenAt >= Math.min(60_000, session.lifetime.idle / 20);
}

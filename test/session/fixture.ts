import { randomBytes } from 'node:crypto';
import type { Session } from '../../src/session/session.ts';
import { sessionKey } from '../../src/session/sessions.ts';

export const START = Date.UTC(2026, 0, 1);
export const MINUTE = 60_000;

/** A session as a login at `START` makes it: 30 minutes idle, 2 hours in all. */
export function newSession(overrides: Partial<Session> = {}): Session {
  return {
    key: sessionKey(randomBytes(32).toString('base64url')),
    tenant: 'acme',
    subject: 'alice',
    roles: ['user'],
    method: 'password',
    createdAt: START,
    seenAt: START,
    lifetime: { idle: 30 * MINUTE, absolute: 120 * MINUTE },
    ...overrides,
  };
}

/** A clock that only moves when told. */
export function handClock(): { clock: () => number; forward(milliseconds: number): void } {
  let now = START;
  return {
    clock: () => now,
    forward(milliseconds) {
      now += milliseconds;
    },
  };
}

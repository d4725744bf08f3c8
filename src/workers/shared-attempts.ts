import type { FailedAttempts, Reservation } from '../login/attempts.ts';
import { available } from './availability.ts';
import type { Channel } from './channel.ts';
import type { PrimaryCalls, WorkerCalls } from './messages.ts';

/** The primary's count of failed logins as one worker uses it. Attempts of a worker that ends count as failed. */
export function serveAttempts(attempts: FailedAttempts): Pick<PrimaryCalls, 'reserveAttempt' | 'settleAttempt'> {
  const open = new Map<number, Reservation>();
  let lastId = 0;
  return {
    async reserveAttempt(login) {
      const reservation = await attempts.reserve(login);
      const id = ++lastId;
      open.set(id, reservation);
      return id;
    },
    async settleAttempt({ id, outcome }) {
      const reservation = open.get(id);
      open.delete(id);
      await reservation?.[outcome]();
    },
  };
}

/** Failed logins as a worker counts them: every attempt is counted by the primary, so that there is one count. */
export function followAttempts(primary: Channel<PrimaryCalls, WorkerCalls>): FailedAttempts {
  return {
    async reserve(login) {
      const id = await available(primary.call('reserveAttempt', login));
      // Not heard of, the attempt stays counted: the safe side.
      const settle = (outcome: 'succeeded' | 'cancel') =>
        primary.call('settleAttempt', { id, outcome }).catch(() => undefined);
      return { succeeded: () => settle('succeeded'), cancel: () => settle('cancel') };
    },
    close: async () => undefined,
  };
}

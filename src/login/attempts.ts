import { hash } from 'node:crypto';
import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import { Problem } from '../problem.ts';
import { clientNetwork } from './client-network.ts';

/** Whose attempt it is; `client` is the client's address. */
export interface AttemptedLogin {
  readonly tenant: string;
  readonly user: string;
  readonly client: string;
}

/** An attempt that is counted as failed until it is told otherwise. Neither call rejects. */
export interface Reservation {
  /** The password was right: the user's failures from this network are forgotten. */
  succeeded(): Promise<void>;
  /** Nothing was verified: the attempt does not count. */
  cancel(): Promise<void>;
}

/**
 * Counts failed logins per (tenant, user, network) and per (tenant, network). The count is over the network too, so that
 * nobody can lock a user out from elsewhere.
 */
export interface FailedAttempts {
  /**
   * Takes one of the attempts that are left, before anything is verified: parallel guesses cannot outrun the count.
   * Throws Problem `too-many-attempts` with Retry-After when none is left, whatever the password; and
   * `session-store-unavailable` when the count cannot be read, for a limit that is not enforced is none.
   */
  reserve(login: AttemptedLogin): Promise<Reservation>;
  close(): Promise<void>;
}

/** How many failures are allowed in `window` milliseconds. */
export interface AttemptLimits {
  /** Per user and network. */
  readonly perUser: number;
  /** Per network, over all users. */
  readonly perAddress: number;
  readonly window: number;
}

export const DEFAULT_LIMITS: AttemptLimits = { perUser: 5, perAddress: 50, window: 15 * 60_000 };

/** The window as the counters want it; below a second Redis would never forget. */
export function wholeSeconds(limits: AttemptLimits): number {
  return Math.max(1, Math.ceil(limits.window / 1000));
}

/** The counters behind the rules, in memory or shared. */
export interface AttemptCounters {
  readonly perUser: RateLimiterAbstract;
  readonly perAddress: RateLimiterAbstract;
  /** Turns what a counter threw when it could not count into the Problem to refuse with. */
  readonly unavailable: (thrown: unknown) => Problem;
  readonly close: () => Promise<void>;
}

/** The rules over two counters. */
export function createFailedAttempts(counters: AttemptCounters): FailedAttempts {
  const { perUser, perAddress, unavailable, close } = counters;

  /** Throws Problem `too-many-attempts` when the counter has none left. */
  async function take(counter: RateLimiterAbstract, key: string): Promise<void> {
    try {
      await counter.consume(key);
    } catch (thrown) {
      throw thrown instanceof RateLimiterRes ? tooMany(thrown.msBeforeNext) : unavailable(thrown);
    }
  }

  return {
    async reserve({ tenant, user, client }) {
      const network = clientNetwork(client);
      const addressKey = keyOf(tenant, network);
      const userKey = keyOf(tenant, network, user);
      await take(perAddress, addressKey);
      try {
        await take(perUser, userKey);
      } catch (refused) {
        // It is not going to be verified, so it must not use up what other users of the network have left.
        await settled(perAddress.reward(addressKey));
        throw refused;
      }
      return {
        async succeeded() {
          await settled(perUser.delete(userKey), perAddress.reward(addressKey));
        },
        async cancel() {
          await settled(perUser.reward(userKey), perAddress.reward(addressKey));
        },
      };
    },
    close,
  };
}

/** Hashed: people type passwords into the name field, and a counter's key is no place for a name either. */
function keyOf(...parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url');
}

/** Giving an attempt back may fail, which leaves a count too high until the window is over: the safe side. */
async function settled(...work: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(work);
}

function tooMany(milliseconds: number): Problem {
  return new Problem('too-many-attempts', 'There were too many failed logins from this network; try again later.', {
    headers: { 'Retry-After': String(Math.max(1, Math.ceil(milliseconds / 1000))) },
  });
}

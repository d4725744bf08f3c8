import type { Upstream } from '../tenant.ts';
import { ClockSkew, type SkewEstimate } from './clock-skew.ts';

/** After a failed connection an endpoint is tried last for this long, in milliseconds. */
const COOL_DOWN = 5000;
/** The Date header of one answer in so many milliseconds is looked at. */
const SKEW_EVERY = 1000;

/** How an attempt ended; `abandoned` by the client, which says nothing of the endpoint. */
export type Outcome = 'answered' | 'unreachable' | 'failed' | 'abandoned';

interface Endpoint {
  readonly origin: string;
  pending: number;
  /** Epoch milliseconds until which it is tried last. */
  coolUntil: number;
  readonly attempts: Record<Outcome, number>;
  answeredAt: number | undefined;
  failure: { readonly at: number; readonly kind: 'unreachable' | 'failed' } | undefined;
  readonly skew: ClockSkew;
  skewAt: number;
}

/** An endpoint taken for one attempt. */
export interface Lease {
  readonly origin: string;
  /** The Date header of the answer that arrived at `receivedAt` (epoch milliseconds), `elapsed` of them after sending. */
  noteDate(date: string | undefined, receivedAt: number, elapsed: number): void;
  /** Call once, when the attempt is over. */
  release(outcome: Outcome, now: number): void;
}

/** What is known of an endpoint. Instants are epoch milliseconds. */
export interface EndpointState {
  readonly origin: string;
  /** Attempts under way. */
  readonly pending: number;
  /** Tried last at the moment because it could not be reached. */
  readonly cooling: boolean;
  /** Attempts so far by how they ended. */
  readonly attempts: Readonly<Record<Outcome, number>>;
  readonly answeredAt: number | undefined;
  readonly failure: { readonly at: number; readonly kind: 'unreachable' | 'failed' } | undefined;
  readonly skew: SkewEstimate | undefined;
}

/** Chooses among an upstream's endpoints: the one with the fewest requests pending, those that failed lately last. */
export class Endpoints {
  readonly #byOrigin = new Map<string, Endpoint>();

  /** `tried` are origins this request has failed on; they come last. */
  lease(upstream: Upstream, tried: readonly string[], now: number): Lease {
    let best: Endpoint | undefined;
    let bestRank = Number.POSITIVE_INFINITY;
    for (const origin of upstream.endpoints) {
      const endpoint = this.#get(origin);
      const rank = endpoint.pending + (endpoint.coolUntil > now ? 1e6 : 0) + (tried.includes(origin) ? 1e9 : 0);
      if (rank < bestRank) {
        best = endpoint;
        bestRank = rank;
      }
    }
    if (best === undefined) throw new RangeError('an upstream has at least one endpoint');
    const endpoint = best;
    endpoint.pending++;
    return {
      origin: endpoint.origin,
      noteDate(date, receivedAt, elapsed) {
        if (date === undefined || Math.abs(receivedAt - endpoint.skewAt) < SKEW_EVERY) return;
        endpoint.skewAt = receivedAt;
        endpoint.skew.note(date, receivedAt, elapsed);
      },
      release(outcome, at) {
        endpoint.pending--;
        endpoint.attempts[outcome]++;
        if (outcome === 'unreachable') endpoint.coolUntil = at + COOL_DOWN;
        else if (outcome === 'answered') endpoint.coolUntil = 0;
        if (outcome === 'answered') endpoint.answeredAt = at;
        else if (outcome !== 'abandoned') endpoint.failure = { at, kind: outcome };
      },
    };
  }

  /** What is known of an endpoint; nothing has happened yet on one that was never tried. */
  describe(origin: string, now: number): EndpointState {
    const { pending, coolUntil, attempts, answeredAt, failure, skew } = this.#byOrigin.get(origin) ?? fresh(origin);
    return { origin, pending, cooling: coolUntil > now, attempts, answeredAt, failure, skew: skew.estimate };
  }

  #get(origin: string): Endpoint {
    let endpoint = this.#byOrigin.get(origin);
    if (endpoint === undefined) {
      endpoint = fresh(origin);
      this.#byOrigin.set(origin, endpoint);
    }
    return endpoint;
  }
}

function fresh(origin: string): Endpoint {
  return {
    origin,
    pending: 0,
    coolUntil: 0,
    attempts: { answered: 0, unreachable: 0, failed: 0, abandoned: 0 },
    answeredAt: undefined,
    failure: undefined,
    skew: new ClockSkew(),
    skewAt: Number.NEGATIVE_INFINITY,
  };
}

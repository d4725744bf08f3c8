import type { Upstream } from '../tenant.ts';

/** After a failed connection an endpoint is tried last for this long, in milliseconds. */
const COOL_DOWN = 5000;

interface Endpoint {
  readonly origin: string;
  pending: number;
  /** Epoch milliseconds until which it is tried last. */
  coolUntil: number;
}

/** An endpoint taken for one attempt. */
export interface Lease {
  readonly origin: string;
  /** Call once, when the attempt is over. */
  release(outcome: 'answered' | 'unreachable' | 'failed', now: number): void;
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
      release(outcome, at) {
        endpoint.pending--;
        if (outcome === 'unreachable') endpoint.coolUntil = at + COOL_DOWN;
        else if (outcome === 'answered') endpoint.coolUntil = 0;
      },
    };
  }

  #get(origin: string): Endpoint {
    let endpoint = this.#byOrigin.get(origin);
    if (endpoint === undefined) {
      endpoint = { origin, pending: 0, coolUntil: 0 };
      this.#byOrigin.set(origin, endpoint);
    }
    return endpoint;
  }
}

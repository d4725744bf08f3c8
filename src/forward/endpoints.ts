import type { EndpointListener } from '../observe/endpoint-event.ts';
import type { Upstream } from '../tenant.ts';
import { Endpoint, type EndpointState } from './endpoint.ts';
import { Lease } from './lease.ts';

/** Ranks: lower is better. Requests pending decide within a class. */
const TRIAL = -1;
const COOLING = 1e6;
const HALF_OPEN = 1e7;
const TRIED = 1e9;

/** Chooses among an upstream's endpoints. */
export class Endpoints {
  readonly #byOrigin = new Map<string, Endpoint>();
  readonly #tell: EndpointListener;
  #turn = 0;

  constructor(tell: EndpointListener) {
    this.#tell = tell;
  }

  /**
   * The endpoint with the fewest requests pending, of several the one that waited longest; those that could not be reached
   * lately come last, and `tried`, origins this request has failed on, behind them. An endpoint on trial comes first, but for
   * requests that have failed already. Undefined when the breakers of all are open.
   */
  lease(upstream: Upstream, tried: readonly string[], now: number): Lease | undefined {
    const awaitsProbe = upstream.health !== undefined;
    let best: Endpoint | undefined;
    let bestRank = Number.POSITIVE_INFINITY;
    for (const origin of upstream.endpoints) {
      const endpoint = this.#get(origin);
      if (!endpoint.breaker.admits(now, awaitsProbe)) continue;
      const rank = rankOf(endpoint, tried, now);
      if (rank > bestRank || (rank === bestRank && best !== undefined && endpoint.turn >= best.turn)) continue;
      best = endpoint;
      bestRank = rank;
    }
    if (best === undefined) return undefined;
    best.turn = ++this.#turn;
    if (tried.length === 0) best.retries.request(now);
    return new Lease(best, upstream, now);
  }

  /** Whether there is an endpoint in use that is none of `tried`. */
  hasOther({ endpoints, health }: Upstream, tried: readonly string[], now: number): boolean {
    return endpoints.some(
      (origin) => !tried.includes(origin) && this.#get(origin).breaker.admits(now, health !== undefined),
    );
  }

  /** Whole seconds until an upstream whose endpoints are all out of use may be tried again; at least 1. */
  retryAfter({ endpoints, health }: Upstream, now: number): number {
    const waits = endpoints.map((origin) => {
      const { breaker } = this.#get(origin);
      // A trial that is under way takes no longer than an answer.
      if (breaker.state !== 'open') return 0;
      return health?.interval ?? breaker.admittedFrom(now) - now;
    });
    return Math.max(1, Math.ceil(Math.min(...waits) / 1000));
  }

  /** An endpoint that has been leased before. */
  known(origin: string): Endpoint | undefined {
    return this.#byOrigin.get(origin);
  }

  /** Forgets the endpoints that are not among `origins` and have nothing under way. */
  retain(origins: ReadonlySet<string>): void {
    for (const [origin, { pending }] of this.#byOrigin) {
      if (pending === 0 && !origins.has(origin)) this.#byOrigin.delete(origin);
    }
  }

  /** What is known of an endpoint; nothing has happened yet on one that was never tried. */
  describe(origin: string, now: number): EndpointState {
    return (this.#byOrigin.get(origin) ?? new Endpoint(origin, this.#tell)).describe(now);
  }

  #get(origin: string): Endpoint {
    let endpoint = this.#byOrigin.get(origin);
    if (endpoint === undefined) {
      endpoint = new Endpoint(origin, this.#tell);
      this.#byOrigin.set(origin, endpoint);
    }
    return endpoint;
  }
}

function rankOf(endpoint: Endpoint, tried: readonly string[], now: number): number {
  const { origin, pending, coolUntil, breaker } = endpoint;
  const isOnTrial = breaker.state !== 'closed';
  if (isOnTrial && tried.length === 0) return TRIAL;
  const penalty = (isOnTrial ? HALF_OPEN : 0) + (coolUntil > now ? COOLING : 0) + (tried.includes(origin) ? TRIED : 0);
  return pending + penalty;
}

import type { Upstream } from '../tenant.ts';
import type { Endpoint, Outcome } from './endpoint.ts';

/** After a failed connection an endpoint is tried last for this long, in milliseconds. */
const COOL_DOWN = 5000;

/**
 * What a failure says of its endpoint. `cut`: the connection broke, and those of other requests may have broken with it: in a
 * row they are one failure, so that a firewall that drops its connections does not pass for a dead upstream.
 */
export type Testimony = 'failure' | 'cut' | 'nothing';

/** The head of an answer, as far as it tells something of the endpoint. */
interface EndpointAnswer {
  /** It is problem+json: the Service speaks, not something in front of it. */
  readonly isProblem: boolean;
  readonly date: string | undefined;
}

/** An endpoint taken for one attempt. */
export class Lease {
  readonly #endpoint: Endpoint;
  readonly #upstream: Upstream;
  readonly #isTrial: boolean;
  readonly #failuresBefore: number;
  #isHeard = false;
  /** Milliseconds to be added to our time in this attempt's signature. */
  readonly clockOffset: number;

  constructor(endpoint: Endpoint, upstream: Upstream, now: number) {
    this.#endpoint = endpoint;
    this.#upstream = upstream;
    this.#isTrial = endpoint.breaker.begin(now);
    this.#failuresBefore = endpoint.breaker.failures;
    this.clockOffset = upstream.followClock ? endpoint.clock.offset : 0;
    endpoint.pending++;
  }

  get origin(): string {
    return this.#endpoint.origin;
  }

  /**
   * The head of an answer arrived at `now` (epoch milliseconds), `elapsed` of them after sending. Gives whether the request
   * was refused because of its date: with what is known of the upstream's clock now it may pass.
   */
  heard(status: number, { isProblem, date }: EndpointAnswer, now: number, elapsed: number): boolean {
    const { breaker, clock } = this.#endpoint;
    this.#isHeard = true;
    if (isFailure(status, isProblem)) breaker.failed(this.#isTrial, true, this.#upstream.breaker, now);
    else breaker.succeeded(this.#isTrial, now);
    if (date === undefined) return false;
    const refused = isProblem && (status === 400 || status === 401);
    if (!refused && !clock.isDue(now)) return false;
    const reading = { date, receivedAt: now, elapsed, offset: this.clockOffset, refused };
    return clock.read(reading) && this.#upstream.followClock;
  }

  /** Whether a failure on this endpoint may be made good by another attempt, which counts as made then. */
  mayRetry(now: number): boolean {
    return this.#endpoint.retries.take(this.#upstream.retries, now);
  }

  /** Call once, when the attempt is over. `says` is about a failure. */
  release(outcome: Outcome, now: number, says: Testimony = 'failure'): void {
    const endpoint = this.#endpoint;
    endpoint.pending--;
    endpoint.attempts[outcome]++;
    if (outcome === 'unreachable') endpoint.coolUntil = now + COOL_DOWN;
    else if (outcome === 'answered') endpoint.coolUntil = 0;
    if (outcome === 'answered') endpoint.answeredAt = now;
    else if (outcome !== 'abandoned') endpoint.failure = { at: now, kind: outcome };
    // An answer that breaks later on was an answer: downloads and event streams end so when a connection is cut.
    if (this.#isHeard) return;
    const { breaker } = endpoint;
    if (outcome === 'abandoned' || says === 'nothing') {
      breaker.abandoned(this.#isTrial);
      return;
    }
    const inRow = says === 'failure' || this.#failuresBefore === breaker.failures;
    breaker.failed(this.#isTrial, inRow, this.#upstream.breaker, now);
  }
}

/** A balancer says with these that nobody is behind it. The same from the Service itself, as a problem, is an answer. */
function isFailure(status: number, isProblem: boolean): boolean {
  return status >= 502 && status <= 504 && !isProblem;
}

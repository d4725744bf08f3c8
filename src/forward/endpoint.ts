import type { EndpointListener } from '../observe/endpoint-event.ts';
import { Breaker, type BreakerState } from './breaker.ts';
import type { SkewEstimate } from './clock-skew.ts';
import { RetryBudget } from './retry-budget.ts';
import { type ClockState, UpstreamClock } from './upstream-clock.ts';

/** How an attempt ended; `abandoned` by the client, which says nothing of the endpoint. */
export type Outcome = 'answered' | 'unreachable' | 'failed' | 'abandoned';

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
  readonly breaker: {
    readonly state: BreakerState;
    readonly since: number | undefined;
    readonly entered: Readonly<Record<BreakerState, number>>;
  };
  /** After failures here, since the process started; `denied` by the budget. */
  readonly retries: { readonly sent: number; readonly denied: number };
  readonly skew: SkewEstimate | undefined;
  readonly clock: { readonly state: ClockState; readonly offset: number };
}

/** One address of an upstream and what its answers and failures have taught. Tenants that share it share that. */
export class Endpoint {
  readonly origin: string;
  readonly breaker: Breaker;
  readonly clock: UpstreamClock;
  readonly retries = new RetryBudget();
  readonly attempts: Record<Outcome, number> = { answered: 0, unreachable: 0, failed: 0, abandoned: 0 };
  pending = 0;
  /** Counts up with each lease of any endpoint: the lowest has waited the longest. */
  turn = 0;
  /** Epoch milliseconds until which it is tried last. */
  coolUntil = 0;
  answeredAt: number | undefined;
  failure: EndpointState['failure'];

  constructor(origin: string, tell: EndpointListener) {
    this.origin = origin;
    this.breaker = new Breaker((from, to) => tell({ kind: 'breaker', endpoint: origin, from, to }));
    this.clock = new UpstreamClock((state, skew) => tell({ kind: 'clock', endpoint: origin, state, skew }));
  }

  describe(now: number): EndpointState {
    const { origin, pending, attempts, answeredAt, failure, breaker, clock } = this;
    const { state, since, entered } = breaker;
    return {
      origin,
      pending,
      cooling: this.coolUntil > now,
      attempts,
      answeredAt,
      failure,
      breaker: { state, since: since === 0 ? undefined : since, entered },
      retries: this.retries.totals,
      skew: clock.estimate,
      clock: { state: clock.state, offset: clock.offset },
    };
  }
}

import type { Hono } from 'hono';
import type { EdgeEnv } from './edge/app.ts';
import type { LimitExchange } from './edge/limits.ts';
import type { EdgeHandlers } from './edge/server.ts';
import type { Budgets } from './forward/bodies/budget.ts';
import type { Endpoints } from './forward/endpoints.ts';
import type { FailedAttempts } from './login/attempts.ts';
import type { Audit } from './observe/audit.ts';
import type { KeypairListener } from './observe/keypair-event.ts';
import type { Log } from './observe/log.ts';
import type { Sessions } from './session/sessions.ts';
import type { SessionStore } from './session/store.ts';
import type { LiveStreams } from './session/streams.ts';
import type { Snapshot } from './snapshot.ts';

/** What a gateway is built of. */
export interface GatewayOptions {
  /** The configuration in force; asked once per request. */
  readonly snapshot: () => Snapshot;
  readonly store: SessionStore;
  readonly attempts: FailedAttempts;
  readonly log: Log;
  /** Hears of keypairs that are refused, accepted again or followed by another; the log does anyway. */
  readonly onKeypair?: KeypairListener;
  /** Kept nowhere when left out. */
  readonly audit?: Audit;
  /** Processes that count against the same limits. */
  readonly exchange?: LimitExchange;
  /** Epoch milliseconds: session expiry, limits and the date of signatures. */
  readonly clock?: () => number;
}

/** A gateway: what its own listener calls, and what it lends to others. */
export interface Gateway extends EdgeHandlers {
  /** The whole edge as a Hono app, to be mounted in somebody else's server on @hono/node-server. */
  readonly app: Hono<EdgeEnv>;
  /** What the operators' listener looks into. */
  readonly insides: {
    readonly endpoints: Endpoints;
    readonly sessions: Sessions;
    readonly streams: LiveStreams;
    readonly bodies: Budgets;
  };
  /** From now on every answer closes its connection. */
  drain(): void;
  /** Breaks what is still open: live streams, then upstream connections. The stores stay with whoever opened them. */
  close(): Promise<void>;
}

import type { Method } from '../exchange.ts';
import type { Failure } from './failure.ts';

/** Attempts at one request in all, the first included. */
export const MAX_ATTEMPTS = 3;

const NEVER_LEFT: ReadonlySet<Failure['kind']> = new Set(['connect', 'connect-timeout', 'out-of-use']);

/**
 * Whether a request that failed before any byte of a response may be sent again. What never left is safe for every
 * method. A connection that broke under a request may have been a kept one that the upstream was closing just then: once
 * more, but only for a method that changes nothing (RFC 9110 §9.2.1, §9.2.2). REPORT carries a body and may run long: no.
 */
export function mayRetry(failure: Failure, method: Method, state: AttemptState): boolean {
  if (state.attempt >= MAX_ATTEMPTS || !state.bodyReplayable) return false;
  if (NEVER_LEFT.has(failure.kind)) return state.untriedEndpoint;
  return failure.kind === 'broken' && state.attempt === 1 && (method === 'GET' || method === 'HEAD');
}

export interface AttemptState {
  /** 1 for the first. */
  readonly attempt: number;
  /** False once a streamed body has begun to leave. */
  readonly bodyReplayable: boolean;
  /** Whether the upstream has an endpoint this request has not been tried on. */
  readonly untriedEndpoint: boolean;
}

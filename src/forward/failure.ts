import { Problem } from '../problem.ts';
import type { Outcome } from './endpoint.ts';
import type { Testimony } from './lease.ts';

/** How an attempt failed, by what the caller may do next. */
export interface Failure {
  readonly kind:
    | 'connect'
    | 'connect-timeout'
    | 'out-of-use'
    | 'headers-timeout'
    | 'idle-timeout'
    | 'broken'
    | 'protocol';
  /** The error's own code, for the log. */
  readonly code: string;
  readonly cause: unknown;
}

const CONNECT_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EHOSTDOWN',
]);

/** Errors of TLS commonly come before the first byte of a request. */
const TLS_CODE = /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_OSSL_)/;

/**
 * Sorts an error of a connection by its code; never by its text. `sent`: whether the request may have reached the server; left
 * out where only the code can tell.
 */
export function failureOf(error: unknown, sent?: boolean): Failure {
  const cause = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const code = String((cause as { code?: unknown } | null)?.code ?? 'unknown');
  const kind = kindOf(code, cause);
  // Whatever befell a connection that was being made, the request never left; an unreachable host or a bad TLS record on one
  // that carried it says nothing of the kind.
  if (sent === false && kind === 'broken') return { kind: 'connect', code, cause };
  if (sent === true && kind === 'connect') return { kind: 'broken', code, cause };
  return { kind, code, cause };
}

function kindOf(code: string, cause: unknown): Failure['kind'] {
  if (CONNECT_CODES.has(code) || TLS_CODE.test(code)) return 'connect';
  switch (code) {
    case 'UPSTREAM_CONNECT_TIMEOUT':
    case 'ECONNECT_TIMEOUT':
      return 'connect-timeout';
    case 'UPSTREAM_OUT_OF_USE':
      return 'out-of-use';
    case 'UPSTREAM_HEADERS_TIMEOUT':
      return 'headers-timeout';
    case 'UPSTREAM_IDLE_TIMEOUT':
      return 'idle-timeout';
    case 'ETIMEDOUT':
      return (cause as { syscall?: unknown }).syscall === 'connect' ? 'connect-timeout' : 'broken';
    default:
      return code === 'UPSTREAM_MALFORMED' || code.startsWith('HPE_') ? 'protocol' : 'broken';
  }
}

/** How the attempt ended, for the endpoint's figures. */
export function outcomeOf({ kind }: Failure): Outcome {
  if (kind === 'out-of-use') return 'abandoned';
  return kind === 'connect' || kind === 'connect-timeout' ? 'unreachable' : 'failed';
}

/** What it says of the endpoint. A request for which no connection became free in time has not been there. */
export function testimonyOf({ kind }: Failure, sent: boolean): Testimony {
  if (kind === 'out-of-use' || (kind === 'headers-timeout' && !sent)) return 'nothing';
  return kind === 'broken' ? 'cut' : 'failure';
}

/** Every endpoint of the upstream is out of use; `seconds` from now one may be tried again. */
export function unavailable(seconds: number): Problem {
  return new Problem('upstream-unavailable', 'The upstream has failed several times and is given a moment.', {
    headers: { 'Retry-After': String(seconds) },
  });
}

/** The refusal a front end sees; the upstream's address and the error's text stay in the log. `retryAfter`: seconds until an endpoint may be in use. */
export function problemOf(failure: Failure, retryAfter = 1): Problem {
  const cause = failure.cause;
  switch (failure.kind) {
    case 'connect':
      return new Problem('upstream-unreachable', 'No connection to the upstream could be made.', { cause });
    case 'connect-timeout':
      return new Problem('upstream-timeout', 'The upstream did not accept a connection in time.', { cause });
    case 'out-of-use':
      return unavailable(retryAfter);
    case 'headers-timeout':
      return new Problem('upstream-timeout', 'The upstream did not answer in time.', { cause });
    case 'idle-timeout':
      return new Problem('upstream-timeout', 'The upstream stopped in the middle of its answer.', { cause });
    case 'protocol':
      return new Problem('upstream-failed', 'The upstream’s answer is no valid HTTP response.', { cause });
    case 'broken':
      return new Problem('upstream-failed', 'The upstream closed the connection without an answer.', { cause });
  }
}

import { Problem } from '../problem.ts';

/** How an attempt failed, by what the caller may do next. */
export interface Failure {
  readonly kind: 'connect' | 'connect-timeout' | 'headers-timeout' | 'idle-timeout' | 'broken' | 'protocol';
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

/** The refusal a front end sees; the upstream's address and the error's text stay in the log. */
export function problemOf(failure: Failure): Problem {
  const cause = failure.cause;
  switch (failure.kind) {
    case 'connect':
      return new Problem('upstream-unreachable', 'No connection to the upstream could be made.', { cause });
    case 'connect-timeout':
      return new Problem('upstream-timeout', 'The upstream did not accept a connection in time.', { cause });
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

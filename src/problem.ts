/**
 * Every refusal the gateway can make. The code is the contract: it is the last segment of the problem's `type`, the
 * `code` of the log event, and what a front end switches on. Status and title follow from it here and nowhere else.
 */
const PROBLEMS = {
  'ambiguous-target': { status: 400, title: 'The request target is ambiguous' },
  'malformed-request': { status: 400, title: 'The request is malformed' },
  'duplicate-cookie': { status: 400, title: 'The session cookie was sent more than once' },
  'invalid-body': { status: 400, title: 'The request body is invalid' },
  'graphql-invalid': { status: 400, title: 'The GraphQL request is invalid' },
  unauthorized: { status: 401, title: 'Unauthorized access' },
  'invalid-credentials': { status: 401, title: 'Invalid credentials' },
  csrf: { status: 403, title: 'Cross-site request refused' },
  forbidden: { status: 403, title: 'Forbidden' },
  'owner-access-key': { status: 403, title: 'owner_access_key is not allowed' },
  'graphql-operation': { status: 403, title: 'GraphQL operation not allowed' },
  'no-route': { status: 404, title: 'No such route' },
  'unknown-session': { status: 404, title: 'No such session' },
  'unknown-login-method': { status: 400, title: 'Unknown login method' },
  'method-not-allowed': { status: 405, title: 'Method not allowed' },
  'request-timeout': { status: 408, title: 'The request took too long to arrive' },
  'body-too-large': { status: 413, title: 'The request body is too large' },
  'unsupported-media-type': { status: 415, title: 'Unsupported media type' },
  'expectation-failed': { status: 417, title: 'Expectation failed' },
  'unknown-tenant': { status: 421, title: 'No tenant answers for this host' },
  'rate-limit-exceeded': { status: 429, title: 'Too many requests' },
  'too-many-attempts': { status: 429, title: 'Too many failed attempts' },
  'headers-too-large': { status: 431, title: 'The request header is too large' },
  internal: { status: 500, title: 'Internal error' },
  'upstream-unreachable': { status: 502, title: 'The upstream cannot be reached' },
  'upstream-failed': { status: 502, title: 'The upstream did not answer properly' },
  'keypair-unavailable': { status: 503, title: 'No keypair of this role is valid now' },
  'upstream-unavailable': { status: 503, title: 'The upstream is out of use for the moment' },
  'session-store-unavailable': { status: 503, title: 'The session store is unavailable' },
  'upstream-timeout': { status: 504, title: 'The upstream took too long to answer' },
  'insufficient-storage': { status: 507, title: 'There is no room for the request body' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

export const PROBLEM_CODES = Object.keys(PROBLEMS) as ProblemCode[];

/** The problem base used where no tenant's own `problemBase` is known. */
export const DEFAULT_PROBLEM_BASE = 'https://problems.countersign.example';

export interface ProblemOptions {
  /** Extra response headers, e.g. `Retry-After`, `Allow`, `Set-Cookie`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The connection cannot be used for another request: the rest of the body or the framing is not trusted. */
  readonly close?: boolean;
  readonly cause?: unknown;
}

/** A refusal, thrown by any stage and rendered once, at the edge, as problem+json (RFC 9457, service-api.md §7). */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly close: boolean;

  constructor(code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    super(`${code}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause });
    const { status, title } = PROBLEMS[code];
    this.code = code;
    this.status = status;
    this.title = title;
    this.detail = detail;
    this.headers = options.headers ?? {};
    this.close = options.close ?? false;
  }

  /** The body of the answer; `instance` is the request id. */
  toBody(problemBase: string, instance: string): string {
    return JSON.stringify({
      type: `${problemBase}/${this.code}`,
      title: this.title,
      status: this.status,
      detail: this.detail,
      instance,
    });
  }
}

/** What is thrown but is no Problem is a defect of ours: the caller learns nothing of it beyond the code. */
export function asProblem(thrown: unknown): Problem {
  return thrown instanceof Problem ? thrown : new Problem('internal', 'The gateway failed.', { cause: thrown });
}

/** Every refusal of the Service: those of service-api.md §7 and what that text leaves to the implementation. */
const PROBLEMS = {
  'invalid-params': { status: 400, title: 'Invalid request parameters' },
  'invalid-auth-params': { status: 400, title: 'Invalid authentication parameters' },
  'unsupported-version': { status: 400, title: 'Unsupported API version' },
  'malformed-request': { status: 400, title: 'Malformed HTTP request' },
  unauthorized: { status: 401, title: 'Unauthorized access' },
  forbidden: { status: 403, title: 'Forbidden operation' },
  'quota-exceeded': { status: 403, title: 'Resource quota exceeded' },
  'not-found': { status: 404, title: 'Not found' },
  'method-not-allowed': { status: 405, title: 'Method not allowed' },
  'request-timeout': { status: 408, title: 'The request took too long to arrive' },
  'body-too-large': { status: 413, title: 'The request body is too large' },
  'unsupported-media-type': { status: 415, title: 'Unsupported media type' },
  'upgrade-required': { status: 426, title: 'WebSocket upgrade required' },
  'rate-limit-exceeded': { status: 429, title: 'Rate limit exceeded' },
  'headers-too-large': { status: 431, title: 'The request header is too large' },
  'internal-error': { status: 500, title: 'Internal server error' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ServiceProblemCode = keyof typeof PROBLEMS;

/** A refusal: thrown by a handler, rendered once by the server as application/problem+json. */
export class ServiceProblem extends Error {
  override readonly name = 'ServiceProblem';
  readonly code: ServiceProblemCode;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** Response headers that belong to this refusal, such as Allow or Retry-After. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ServiceProblemCode, detail: string, headers: Readonly<Record<string, string>> = {}) {
    super(`${code}: ${detail}`);
    const { status, title } = PROBLEMS[code];
    this.code = code;
    this.status = status;
    this.title = title;
    this.detail = detail;
    this.headers = headers;
  }

  /** The body: `type`, `title` and `detail`, and nothing else (service-api.md §7.3). */
  toBody(problemBase: string): string {
    return JSON.stringify({ type: `${problemBase}/${this.code}`, title: this.title, detail: this.detail });
  }
}

/** What is thrown but is no ServiceProblem is a defect: the client learns nothing of it. */
export function asServiceProblem(thrown: unknown): ServiceProblem {
  return thrown instanceof ServiceProblem ? thrown : new ServiceProblem('internal-error', 'The server failed.');
}

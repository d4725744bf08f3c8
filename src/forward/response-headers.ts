import type { Inbound } from '../exchange.ts';
import type { RateFigures } from '../tenant.ts';

/** Headers that are for one hop only (RFC 9110 §7.6.1), and what the gateway decides itself: CORS and its request id. */
const DROP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-request-id',
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
  'access-control-expose-headers',
  'access-control-max-age',
]);

/** Bytes that node:http refuses to write; found here, while the response can still be refused as a whole. */
const INVALID_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

/** An upstream's header cannot be relayed. Carries a parser's code, so that it counts as a broken protocol. */
export class InvalidResponseHeader extends Error {
  override readonly name = 'InvalidResponseHeader';
  readonly code = 'HPE_INVALID_HEADER_TOKEN';
}

/** The usual spelling of names that parsers give in lower case; case does not matter (RFC 9110 §5.1), but people read it. */
const SPELLING: ReadonlyMap<string, string> = new Map(
  [
    'Accept-Ranges',
    'Age',
    'Allow',
    'Cache-Control',
    'Content-Disposition',
    'Content-Encoding',
    'Content-Language',
    'Content-Length',
    'Content-Location',
    'Content-Range',
    'Content-Type',
    'Date',
    'ETag',
    'Expires',
    'Last-Modified',
    'Link',
    'Location',
    'Retry-After',
    'Server',
    'Set-Cookie',
    'Vary',
    'WWW-Authenticate',
    'X-RateLimit-Limit',
    'X-RateLimit-Remaining',
    'X-RateLimit-Reset',
  ].map((name) => [name.toLowerCase(), name]),
);

/** Response headers by lowercase name, those that came more than once as a list. */
export type ReceivedHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A response's head, ready for the browser. */
export interface ResponseHead {
  /** Name, value, name, value …; duplicates stay apart. */
  readonly headers: string[];
  /** The body's length in bytes as the upstream declares it. */
  readonly contentLength: number | undefined;
  readonly isEventStream: boolean;
  /** `application/problem+json`: the Service speaks for itself (service-api.md §7), not something behind it. */
  readonly isProblem: boolean;
  /** The upstream's `X-RateLimit-*`, verbatim, when it sent all three. */
  readonly quota: RateFigures | undefined;
  /** The upstream's Date header. */
  readonly date: string | undefined;
}

/**
 * Turns the upstream's headers, by lowercase name, into the browser's. Location and Link that point at the upstream are
 * rewritten to the tenant's origin, its mount put back; every other value passes as it came. Throws
 * `InvalidResponseHeader`.
 */
export function responseHead(received: ReceivedHeaders, inbound: Inbound, endpoint: string): ResponseHead {
  const headers: string[] = [];
  for (const lower in received) {
    const value = received[lower];
    if (value === undefined || DROP.has(lower)) continue;
    const name = SPELLING.get(lower) ?? lower;
    if (typeof value === 'string') add(headers, name, lower, value, inbound, endpoint);
    else for (const one of value) add(headers, name, lower, one, inbound, endpoint);
  }
  const connection = received['connection'];
  const named = connection === undefined ? undefined : namesIn(String(connection));
  if (named !== undefined) dropNamed(headers, named);
  headers.push('X-Request-ID', inbound.requestId);
  const contentType = last(received['content-type'])?.toLowerCase() ?? '';
  const contentLength = last(received['content-length']);
  return {
    headers,
    contentLength: contentLength === undefined ? undefined : Number(contentLength),
    isEventStream: contentType.startsWith('text/event-stream'),
    isProblem: contentType.startsWith('application/problem+json'),
    quota: quotaOf(received),
    date: last(received['date']),
  };
}

function add(headers: string[], name: string, lower: string, value: string, inbound: Inbound, endpoint: string): void {
  if (INVALID_VALUE.test(value)) throw new InvalidResponseHeader(`${lower} has a byte no header may have`);
  if (lower === 'set-cookie' && !inbound.tenant.upstream.passSetCookie) return;
  if (lower === 'location') headers.push(name, rewriteLocation(value, inbound, endpoint));
  else if (lower === 'link') headers.push(name, rewriteLink(value, inbound, endpoint));
  else headers.push(name, value);
}

function quotaOf(received: ReceivedHeaders): RateFigures | undefined {
  const limit = last(received['x-ratelimit-limit']);
  const remaining = last(received['x-ratelimit-remaining']);
  const reset = last(received['x-ratelimit-reset']);
  return limit === undefined || remaining === undefined || reset === undefined
    ? undefined
    : { limit, remaining, reset };
}

/** Of a header that came more than once the last counts. */
function last(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'object' ? value.at(-1) : value;
}

/** What Connection commonly says names no header: leave the usual response alone. */
function namesIn(connection: string): Set<string> | undefined {
  const lower = connection.toLowerCase();
  if (lower === 'keep-alive' || lower === 'close') return undefined;
  return new Set(lower.split(',').map((name) => name.trim()));
}

/** Framing is never dropped by name: a `Connection: content-length` must not change how the body ends. */
function dropNamed(headers: string[], named: ReadonlySet<string>): void {
  for (let i = headers.length - 2; i >= 0; i -= 2) {
    const lower = (headers[i] as string).toLowerCase();
    if (named.has(lower) && lower !== 'content-length') headers.splice(i, 2);
  }
}

/** A URL on the upstream, seen from the browser. Other absolute URLs and relative references pass, but for the mount. */
function rewriteLocation(url: string, inbound: Inbound, endpoint: string): string {
  const { mount, signedHost } = inbound.tenant.upstream;
  const own = ownPrefix(url, endpoint, signedHost);
  if (own !== undefined) return `${inbound.origin}${mount}${url.slice(own)}`;
  return mount !== '' && url.startsWith('/') && !url.startsWith('//') ? `${mount}${url}` : url;
}

/**
 * How many characters of an absolute URL are the upstream's own origin; undefined when it is somebody else's. The scheme
 * does not count: behind a TLS terminator of its own an upstream may well call itself http.
 */
function ownPrefix(url: string, endpoint: string, signedHost: string | undefined): number | undefined {
  const authorityAt = /^https?:\/\//i.exec(url)?.[0].length;
  if (authorityAt === undefined) return undefined;
  const authorities = [endpoint.slice(endpoint.indexOf('//') + 2), ...(signedHost === undefined ? [] : [signedHost])];
  for (const authority of authorities) {
    const end = authorityAt + authority.length;
    if (url.slice(authorityAt, end).toLowerCase() !== authority.toLowerCase()) continue;
    const next = url.charAt(end);
    if (next === '' || next === '/' || next === '?' || next === '#') return end;
  }
  return undefined;
}

/** Rewrites each `<target>` of a Link header (RFC 8288 §3), leaving its parameters alone. */
function rewriteLink(value: string, inbound: Inbound, endpoint: string): string {
  let result = '';
  let position = 0;
  for (;;) {
    const open = value.indexOf('<', position);
    const close = open === -1 ? -1 : value.indexOf('>', open);
    if (close === -1) return result + value.slice(position);
    const rewritten = rewriteLocation(value.slice(open + 1, close), inbound, endpoint);
    result += `${value.slice(position, open + 1)}${rewritten}>`;
    position = close + 1;
  }
}

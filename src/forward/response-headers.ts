import type { Inbound } from '../exchange.ts';
import { HEADER, type HeaderName, headerName } from '../http1/header-name.ts';
import type { ResponseHead } from '../http1/response-head.ts';
import type { RateFigures } from '../tenant.ts';

/** A response's head, ready for the browser. */
export interface RelayedHead {
  /** Name, value, name, value …; duplicates stay apart. */
  readonly headers: string[];
  readonly isEventStream: boolean;
  /** `application/problem+json`: the Service speaks for itself (service-api.md §7), not something behind it. */
  readonly isProblem: boolean;
  /** The upstream's `X-RateLimit-*`, verbatim, when it sent all three. */
  readonly quota: RateFigures | undefined;
  /** The upstream's Date header. */
  readonly date: string | undefined;
}

/** What of an upstream's head is relayed. */
export type ReceivedHead = Pick<ResponseHead, 'names' | 'values' | 'connection'>;

/**
 * Turns the upstream's headers into the browser's. Dropped is what is for one hop only (RFC 9110 §7.6.1) and what the gateway
 * decides itself. Location and Link that point at the upstream are rewritten to the tenant's origin, its mount put back; every
 * other value passes as it came. Of a header that the gateway itself reads, the last counts where it came more than once.
 */
export function relayedHead(
  { names, values, connection }: ReceivedHead,
  inbound: Inbound,
  endpoint: string,
): RelayedHead {
  const headers: string[] = [];
  const named = connection === undefined ? undefined : namesIn(connection);
  let contentType = '';
  let limit: string | undefined;
  let remaining: string | undefined;
  let reset: string | undefined;
  let date: string | undefined;
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as HeaderName;
    let value = values[i] as string;
    switch (name.kind) {
      case HEADER.transferEncoding:
      case HEADER.connection:
      case HEADER.keepAlive:
      case HEADER.hop:
      case HEADER.own:
        continue;
      case HEADER.setCookie:
        if (!inbound.tenant.upstream.passSetCookie) continue;
        break;
      case HEADER.location:
        value = rewriteLocation(value, inbound, endpoint);
        break;
      case HEADER.link:
        value = rewriteLink(value, inbound, endpoint);
        break;
      case HEADER.contentType:
        contentType = value;
        break;
      case HEADER.date:
        date = value;
        break;
      case HEADER.rateLimit:
        limit = value;
        break;
      case HEADER.rateRemaining:
        remaining = value;
        break;
      case HEADER.rateReset:
        reset = value;
        break;
    }
    // Framing is never dropped by name: a `Connection: content-length` must not change how the body ends.
    if (named?.has(name.lower) === true && name.kind !== HEADER.contentLength) continue;
    headers.push(name.text, value);
  }
  headers.push('X-Request-ID', inbound.requestId);
  return {
    headers,
    isEventStream: EVENT_STREAM.test(contentType),
    isProblem: PROBLEM.test(contentType),
    quota:
      limit === undefined || remaining === undefined || reset === undefined ? undefined : { limit, remaining, reset },
    date,
  };
}

const EVENT_STREAM = /^text\/event-stream/i;
const PROBLEM = /^application\/problem\+json/i;

/** The headers of a response that node:http has read: name, value, name, value … */
export function receivedHead(rawHeaders: readonly string[]): ReceivedHead {
  const names: HeaderName[] = [];
  const values: string[] = [];
  const connection: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = headerName(rawHeaders[i] as string);
    if (name === undefined) continue;
    names.push(name);
    values.push(rawHeaders[i + 1] as string);
    if (name.kind === HEADER.connection) connection.push(rawHeaders[i + 1] as string);
  }
  return { names, values, connection: connection.length === 0 ? undefined : connection.join(', ') };
}

/** What Connection commonly says names no header: leave the usual response alone. */
function namesIn(connection: string): Set<string> | undefined {
  const lower = connection.toLowerCase();
  if (lower === 'keep-alive' || lower === 'close') return undefined;
  return new Set(lower.split(',').map((name) => name.trim()));
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

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

/** No response head is larger (forward/transport.ts); what spans more memory came in several reads. */
const MAX_HEAD = 32 * 1024;

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
 * Turns the upstream's raw header pairs into the browser's. Location and Link that point at the upstream are rewritten
 * to the tenant's origin, its mount put back; everything else passes as it came.
 */
export function responseHead(
  rawHeaders: readonly (string | Buffer)[],
  inbound: Inbound,
  endpoint: string,
): ResponseHead {
  const headers: string[] = [];
  let contentLength: number | undefined;
  let isEventStream = false;
  let isProblem = false;
  let named: Set<string> | undefined;
  let limit: string | undefined;
  let remaining: string | undefined;
  let reset: string | undefined;
  let date: string | undefined;
  const { upstream } = inbound.tenant;

  const pairs = textOf(rawHeaders);
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    const name = pairs[i] as string;
    const lower = name.toLowerCase();
    let value = pairs[i + 1] as string;
    if (lower === 'connection') named = addNames(named, value);
    if (DROP.has(lower)) continue;
    if (INVALID_VALUE.test(value)) throw new InvalidResponseHeader(`${lower} has a byte no header may have`);
    switch (lower) {
      case 'content-length':
        contentLength = Number(value);
        break;
      case 'content-type':
        isEventStream = value.toLowerCase().startsWith('text/event-stream');
        isProblem = value.toLowerCase().startsWith('application/problem+json');
        break;
      case 'set-cookie':
        if (!upstream.passSetCookie) continue;
        break;
      case 'location':
        value = rewriteLocation(value, inbound, endpoint);
        break;
      case 'link':
        value = rewriteLink(value, inbound, endpoint);
        break;
      case 'x-ratelimit-limit':
        limit = value;
        break;
      case 'x-ratelimit-remaining':
        remaining = value;
        break;
      case 'x-ratelimit-reset':
        reset = value;
        break;
      case 'date':
        date = value;
        break;
    }
    headers.push(name, value);
  }
  if (named !== undefined) dropNamed(headers, named);
  headers.push('X-Request-ID', inbound.requestId);
  const quota =
    limit === undefined || remaining === undefined || reset === undefined ? undefined : { limit, remaining, reset };
  return { headers, contentLength, isEventStream, isProblem, quota, date };
}

/** A head that arrived in one read lies in one piece of memory: decoding it whole costs less than each of its parts. */
function textOf(raw: readonly (string | Buffer)[]): readonly string[] {
  const first = raw[0];
  const last = raw[raw.length - 1];
  if (!Buffer.isBuffer(first) || !Buffer.isBuffer(last)) return raw.map(textOfOne);
  const { buffer, byteOffset: start } = first;
  const length = last.byteOffset + last.length - start;
  if (last.buffer !== buffer || length < 0 || length > MAX_HEAD) return raw.map(textOfOne);
  const head = Buffer.from(buffer, start, length).toString('latin1');
  return raw.map((part) => {
    if (!Buffer.isBuffer(part) || part.buffer !== buffer) return textOfOne(part);
    const at = part.byteOffset - start;
    return at < 0 || at + part.length > length ? textOfOne(part) : head.slice(at, at + part.length);
  });
}

function textOfOne(part: string | Buffer): string {
  return typeof part === 'string' ? part : part.toString('latin1');
}

/** What Connection commonly says names no header: leave the usual response alone. */
function addNames(named: Set<string> | undefined, connection: string): Set<string> | undefined {
  const lower = connection.toLowerCase();
  if (lower === 'keep-alive' || lower === 'close') return named;
  const names = named ?? new Set<string>();
  for (const name of lower.split(',')) names.add(name.trim());
  return names;
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

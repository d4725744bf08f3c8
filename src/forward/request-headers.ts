import type { Inbound, Permit } from '../exchange.ts';
import type { AttemptTrace } from '../observe/trace.ts';
import type { Signature } from '../signing/sign.ts';

/**
 * The request headers that pass. Everything else stays at the edge: hop-by-hop headers and those named by Connection,
 * cookies, credentials, the Service's own headers, look-alikes with `_`, method overrides, Expect, forwarding headers.
 */
const PASS: ReadonlySet<string> = new Set([
  'accept',
  'accept-charset',
  'accept-encoding',
  'accept-language',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'last-event-id',
  'range',
  'user-agent',
]);

/** A handshake's own headers (RFC 6455 §4.1). Connection and Upgrade are written afresh. */
const PASS_HANDSHAKE: ReadonlySet<string> = new Set([
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-protocol',
  'sec-websocket-version',
]);

/** What the gateway itself says about one attempt. */
export interface Attempt {
  /** The Host that is sent and signed. */
  readonly host: string;
  readonly contentType: string;
  readonly signature: Signature;
  /** Bytes of the body; undefined for none, or for one that is streamed chunked. */
  readonly contentLength: number | undefined;
}

/** The dialect's own header names. */
interface BrandNames {
  readonly date: string;
  readonly version: string;
  /** Lowercase. */
  readonly clientToken: string;
}

/** By header prefix: as many as there are dialects in the configuration. */
const brands = new Map<string, BrandNames>();

function brandNames(prefix: string): BrandNames {
  let names = brands.get(prefix);
  if (names === undefined) {
    names = { date: `${prefix}Date`, version: `${prefix}Version`, clientToken: `${prefix}client-token`.toLowerCase() };
    brands.set(prefix, names);
  }
  return names;
}

/**
 * Name, value, name, value … of one attempt, in the spelling that is sent. The access key and the version are the operator's
 * text: they are sent as the UTF-8 bytes that were signed.
 */
export function requestHeaders(
  permit: Permit,
  attempt: Attempt,
  trace: AttemptTrace,
  kind: 'http' | 'upgrade',
): string[] {
  const { inbound } = permit;
  const { dialect, version, passHeaders } = inbound.tenant.upstream;
  const { date, authorization } = attempt.signature;
  const brand = brandNames(dialect.headerPrefix);
  const headers = [
    'Host',
    attempt.host,
    'Content-Type',
    attempt.contentType,
    'Date',
    date,
    brand.date,
    date,
    brand.version,
    version,
    'Authorization',
    asBytes(authorization),
    'X-Forwarded-For',
    inbound.client,
    'X-Forwarded-Proto',
    inbound.origin.startsWith('https:') ? 'https' : 'http',
    'X-Forwarded-Host',
    inbound.origin.slice(inbound.origin.indexOf('//') + 2),
    'X-Request-ID',
    inbound.requestId,
    'traceparent',
    trace.traceparent,
  ];
  if (trace.tracestate !== undefined) headers.push('tracestate', trace.tracestate);
  if (attempt.contentLength !== undefined) headers.push('Content-Length', String(attempt.contentLength));
  const named = namedByConnection(inbound);
  const { rawHeaders } = inbound;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    const lower = name.toLowerCase();
    const passes =
      PASS.has(lower) ||
      lower === brand.clientToken ||
      (kind === 'upgrade' && PASS_HANDSHAKE.has(lower)) ||
      (passHeaders.size > 0 && passHeaders.has(lower));
    if (passes && named?.has(lower) !== true) headers.push(name, rawHeaders[i + 1] as string);
  }
  return headers;
}

/**
 * Request line and headers of one attempt as they go on the wire, one character per byte. A body of unknown length is
 * announced as chunked. Throws TypeError for a line end within: neither the parser nor the configuration lets one in.
 */
export function requestHead(permit: Permit, attempt: Attempt, trace: AttemptTrace, chunked: boolean): string {
  const { method, target } = permit.inbound;
  const headers = requestHeaders(permit, attempt, trace, 'http');
  if (chunked) headers.push('Transfer-Encoding', 'chunked');
  let head = `${method} ${target} HTTP/1.1\r\n`;
  for (let i = 0; i < headers.length; i += 2) {
    const value = headers[i + 1] as string;
    if (value.includes('\n') || value.includes('\r')) throw new TypeError(`the header ${headers[i]} has a line end`);
    head += `${headers[i]}: ${value}\r\n`;
  }
  return `${head}\r\n`;
}

/** A header that Connection names is for this hop only, even one that would pass (RFC 9110 §7.6.1). */
function namedByConnection(inbound: Inbound): ReadonlySet<string> | undefined {
  const connection = inbound.headers['connection'];
  if (typeof connection !== 'string' || connection === 'keep-alive' || connection === 'Upgrade') return undefined;
  return new Set(connection.split(',').map((name) => name.trim().toLowerCase()));
}

const NON_ASCII = /[^\x20-\x7e]/;

function asBytes(text: string): string {
  return NON_ASCII.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text;
}

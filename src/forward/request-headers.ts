import type { Inbound, Permit } from '../exchange.ts';
import type { AttemptTrace } from '../observe/trace.ts';
import type { Signature } from '../signing/sign.ts';
import type { Upstream } from '../tenant.ts';

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

/** What is the same in every head for one Host and one origin of an upstream. */
interface Frame {
  readonly host: string;
  readonly origin: string;
  /** Name of the dialect's date header, with the colon. */
  readonly date: string;
  readonly fields: string;
  /** Lowercase name of the dialect's client token. */
  readonly clientToken: string;
}

const frames = new WeakMap<Upstream, Frame[]>();

/** One per origin and endpoint, made once for each configuration. */
function frameOf(upstream: Upstream, host: string, origin: string): Frame {
  let known = frames.get(upstream);
  if (known === undefined) {
    known = [];
    frames.set(upstream, known);
  }
  for (const frame of known) if (frame.host === host && frame.origin === origin) return frame;
  const { headerPrefix } = upstream.dialect;
  const scheme = origin.slice(0, origin.indexOf(':'));
  const fields = [
    `Host: ${host}`,
    `${headerPrefix}Version: ${upstream.version}`,
    `X-Forwarded-Proto: ${scheme}`,
    `X-Forwarded-Host: ${origin.slice(scheme.length + '://'.length)}`,
  ];
  const frame: Frame = {
    host,
    origin,
    date: `${headerPrefix}Date: `,
    fields: fields.map((field) => `${requireOneLine(field)}\r\n`).join(''),
    clientToken: `${headerPrefix}client-token`.toLowerCase(),
  };
  known.push(frame);
  return frame;
}

/** What the head announces: a body of known length or none, one of unknown length, a WebSocket. */
type HeadKind = 'http' | 'chunked' | 'upgrade';

/**
 * Request line and headers of one attempt as they go on the wire, one character per byte. The access key is the operator's
 * text: it is sent as the UTF-8 bytes that were signed. Throws TypeError for a line end within a value, which neither
 * parser nor configuration lets in.
 */
export function requestHead(permit: Permit, attempt: Attempt, trace: AttemptTrace, kind: HeadKind): string {
  const { inbound } = permit;
  const { upstream } = inbound.tenant;
  const { date, authorization } = attempt.signature;
  const { passHeaders } = upstream;
  const frame = frameOf(upstream, attempt.host, inbound.origin);
  let head = `${inbound.method} ${inbound.target} HTTP/1.1\r\n${frame.fields}Content-Type: ${attempt.contentType}\r\nDate: ${date}\r\n${frame.date}${date}\r\nAuthorization: ${requireOneLine(asBytes(authorization))}\r\nX-Forwarded-For: ${inbound.client}\r\nX-Request-ID: ${inbound.requestId}\r\ntraceparent: ${trace.traceparent}\r\n`;
  if (trace.tracestate !== undefined) head += `tracestate: ${requireOneLine(trace.tracestate)}\r\n`;
  if (attempt.contentLength !== undefined) head += `Content-Length: ${attempt.contentLength}\r\n`;
  if (kind === 'chunked') head += 'Transfer-Encoding: chunked\r\n';
  const named = namedByConnection(inbound);
  const { rawHeaders } = inbound;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    const lower = name.toLowerCase();
    const passes =
      PASS.has(lower) ||
      lower === frame.clientToken ||
      (kind === 'upgrade' && PASS_HANDSHAKE.has(lower)) ||
      (passHeaders.size > 0 && passHeaders.has(lower));
    if (!passes || named?.has(lower) === true) continue;
    head += `${name}: ${requireOneLine(rawHeaders[i + 1] as string)}\r\n`;
  }
  return `${head}\r\n`;
}

/** The headers of a head: name, value, name, value … */
export function headerPairs(head: string): string[] {
  const lines = head.split('\r\n').slice(1, -2);
  return lines.flatMap((line) => {
    const colon = line.indexOf(': ');
    return [line.slice(0, colon), line.slice(colon + 2)];
  });
}

function requireOneLine(text: string): string {
  if (text.includes('\n') || text.includes('\r')) throw new TypeError('a line end within a header');
  return text;
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

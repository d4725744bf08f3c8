import type { IncomingMessage } from 'node:http';
import { type BodyPlan, type Inbound, METHODS, type Method } from '../exchange.ts';
import { Problem } from '../problem.ts';
import type { Site, Snapshot } from '../snapshot.ts';
import type { Tenant } from '../tenant.ts';
import { Http2Request } from './http2/request.ts';
import { type CanonicalTarget, canonicalTarget, stripMount } from './target.ts';

/** A request whose head has been read and found sound, with the tenant it is for; not yet known is what it wants. */
export interface Arrival {
  readonly snapshot: Snapshot;
  readonly tenant: Tenant;
  /** The origin the front end is on: its scheme decides the cookie's name and flags. */
  readonly origin: string;
  /** As seen at the edge, mount included. */
  readonly target: CanonicalTarget;
  readonly method: Method | 'OPTIONS';
  readonly body: BodyPlan;
  readonly client: string;
  readonly requestId: string;
  readonly receivedAt: number;
  readonly request: IncomingMessage;
}

const ALLOW = `${METHODS.join(', ')}, OPTIONS`;
const KNOWN_METHODS: ReadonlySet<string> = new Set([...METHODS, 'OPTIONS']);

/**
 * Judges a request's head. Throws `malformed-request`, `headers-too-large`, `unknown-tenant`, `method-not-allowed` or
 * `ambiguous-target`. What the parser of node:http lets pass although two parties could read it differently is caught
 * here: several Hosts, no Host, Transfer-Encoding other than a lone `chunked`, chunked over HTTP/1.0.
 */
export function arrive(
  request: IncomingMessage,
  snapshot: Snapshot,
  seen: { readonly client: string; readonly requestId: string; readonly receivedAt: number },
): Arrival {
  const { rawHeaders } = request;
  if (rawHeaders.length > snapshot.listen.maxHeaders * 2) {
    throw new Problem('headers-too-large', `More than ${snapshot.listen.maxHeaders} header fields.`, { close: true });
  }
  const body =
    request.httpVersionMajor === 1 ? planBody(request) : planHttp2Body(request, snapshot.listen.maxHeaderSize);
  const host = soleHost(rawHeaders);
  const site = siteOf(snapshot, host);
  const method = request.method ?? '';
  if (!KNOWN_METHODS.has(method)) {
    throw new Problem('method-not-allowed', `The method is not one of ${ALLOW}.`, {
      headers: { Allow: ALLOW },
      close: true,
    });
  }
  return {
    snapshot,
    tenant: site.tenant,
    origin: site.origin,
    target: canonicalTarget(request.url ?? '', host),
    method: method as Arrival['method'],
    body,
    ...seen,
    request,
  };
}

/** The request as the Service would get it; undefined when the target is not below the tenant's mount. */
export function toInbound(arrival: Arrival): Inbound | undefined {
  const { tenant, method } = arrival;
  if (method === 'OPTIONS') return undefined;
  const { mount } = tenant.upstream;
  const target = mount === '' ? arrival.target : stripMount(arrival.target, mount);
  if (target === undefined) return undefined;
  return {
    tenant,
    origin: arrival.origin,
    method,
    target: target.target,
    path: target.path,
    query: target.query,
    encodedSlash: target.encodedSlash,
    client: arrival.client,
    requestId: arrival.requestId,
    rawHeaders: arrival.request.rawHeaders,
    headers: arrival.request.headers,
    body: arrival.body,
    receivedAt: arrival.receivedAt,
  };
}

function siteOf(snapshot: Snapshot, host: string): Site {
  const site = snapshot.sites.get(host) ?? snapshot.sites.get(host.toLowerCase());
  if (site === undefined) {
    throw new Problem('unknown-tenant', 'This gateway serves no tenant under the requested Host.');
  }
  return site;
}

function soleHost(rawHeaders: readonly string[]): string {
  let host: string | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length !== 4 || name.toLowerCase() !== 'host') continue;
    if (host !== undefined) throw malformed('More than one Host header.');
    host = rawHeaders[i + 1] as string;
  }
  if (host === undefined || host === '') throw malformed('No Host header.');
  return host;
}

function planBody(request: IncomingMessage): BodyPlan {
  const encoding = request.headers['transfer-encoding'];
  if (encoding !== undefined) {
    if (encoding.toLowerCase() !== 'chunked') throw malformed('Transfer-Encoding other than chunked.');
    if (request.httpVersionMinor === 0) throw malformed('Transfer-Encoding over HTTP/1.0.');
    return { kind: 'chunked' };
  }
  const length = request.headers['content-length'];
  if (length === undefined) return NO_BODY;
  const bytes = Number(length);
  if (!Number.isSafeInteger(bytes)) throw malformed('Content-Length is out of range.');
  return bytes === 0 ? NO_BODY : { kind: 'sized', length: bytes };
}

/** Lengths, and their agreement with what comes, are judged by the framing of HTTP/2 (RFC 9113 §8.1.1). */
function planHttp2Body(request: unknown, maxHeaderSize: number): BodyPlan {
  if (!(request instanceof Http2Request)) throw malformed('The version of HTTP is not 1.0 or 1.1.');
  request.requireSound(maxHeaderSize);
  const length = request.headers['content-length'];
  if (length !== undefined) return Number(length) === 0 ? NO_BODY : { kind: 'sized', length: Number(length) };
  return request.complete ? NO_BODY : { kind: 'chunked' };
}

const NO_BODY: BodyPlan = { kind: 'none' };

/** The framing cannot be trusted, so neither can what follows on the connection. */
function malformed(detail: string): Problem {
  return new Problem('malformed-request', detail, { close: true });
}

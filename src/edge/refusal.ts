import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { DEFAULT_PROBLEM_BASE, type Problem } from '../problem.ts';
import type { RateFigures, Tenant } from '../tenant.ts';
import { type NamedStanding, policyHeaders, rateHeaders } from './limits.ts';

/** Rest of a refused request that is read and thrown away so that the client can read the refusal, in milliseconds. */
const LINGER = 1000;

/** A refused request's body of at most so many bytes is read and thrown away to keep its connection. */
const MAX_DISCARDED = 64 * 1024;

/** What a refusal says besides the problem itself; stages fill it in as they learn. */
export interface RefusalContext {
  requestId: string;
  tenant: Tenant | undefined;
  /** The Origin header, echoed for CORS where the tenant has it. */
  origin: string | undefined;
  /** The keypair's `X-RateLimit-*` once there is a Permit; before that the edge's own count stands in for them. */
  quota: RateFigures | undefined;
  /** The edge's own limit that was counted last. */
  limit: NamedStanding;
}

/** The head and body of a problem+json answer (RFC 9457). */
export function renderProblem(
  problem: Problem,
  context: RefusalContext,
): { headers: Record<string, string>; body: string } {
  const body = problem.toBody(context.tenant?.upstream.problemBase ?? DEFAULT_PROBLEM_BASE, context.requestId);
  const headers: Record<string, string> = {
    'Content-Type': 'application/problem+json',
    'Content-Length': String(Buffer.byteLength(body)),
    'Cache-Control': 'no-store',
    'X-Request-ID': context.requestId,
    ...(context.quota === undefined ? rateHeaders(context.limit.standing) : quotaHeaders(context.quota)),
    ...policyHeaders(context.limit),
    ...corsHeaders(context.tenant, context.origin),
    ...problem.headers,
  };
  return { headers, body };
}

function quotaHeaders(quota: RateFigures): Record<string, string> {
  return {
    'X-RateLimit-Limit': quota.limit,
    'X-RateLimit-Remaining': quota.remaining,
    'X-RateLimit-Reset': quota.reset,
  };
}

/** What a cross-origin reader may see, for the tenant's own origins and nobody else (Fetch §3.2). */
export function corsHeaders(tenant: Tenant | undefined, origin: string | undefined): Record<string, string> {
  if (tenant === undefined || origin === undefined || !tenant.origins.has(origin)) return {};
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Credentials': 'true',
    'Access-Control-Expose-Headers':
      'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After, Link, Location, ETag, X-Request-ID',
    Vary: 'Origin',
  };
}

const NONE: readonly string[] = [];

/** The same as name, value, name, value …; most requests, of the same origin, need none. */
export function corsHeaderList(tenant: Tenant, origin: string | undefined): readonly string[] {
  return origin === undefined ? NONE : Object.entries(corsHeaders(tenant, origin)).flat();
}

/** Answers a request with a problem. A reply that has begun cannot be refused any more and is broken instead. */
export function refuse(
  request: IncomingMessage,
  reply: ServerResponse,
  problem: Problem,
  context: RefusalContext,
): void {
  if (reply.headersSent || reply.destroyed) {
    reply.destroy();
    return;
  }
  const { headers, body } = renderProblem(problem, context);
  const mustClose = problem.close || !isWorthReading(request);
  if (mustClose) headers['Connection'] = 'close';
  reply.writeHead(problem.status, headers);
  const text = request.method === 'HEAD' ? '' : body;
  if (request.complete || !mustClose) {
    reply.end(text);
    return;
  }
  // Closing over unread bytes would reset the connection and could take the answer with it: read on for a moment.
  reply.write(text);
  const end = () => {
    clearTimeout(timer);
    reply.end();
  };
  const timer = setTimeout(end, LINGER);
  request.once('end', end).once('close', end).resume();
}

/**
 * Whether the rest of a refused request is short and sure to come, so that its connection can be kept. A client that waits
 * for 100 Continue may leave its body out: what comes next on such a connection could be either.
 */
function isWorthReading(request: IncomingMessage): boolean {
  if (request.complete) return true;
  const { expect, 'transfer-encoding': encoding, 'content-length': length = '0' } = request.headers;
  return expect === undefined && encoding === undefined && Number(length) <= MAX_DISCARDED;
}

/** Answers on a bare socket (a failed upgrade, a head that could not be parsed) and closes it. */
export function refuseOnSocket(socket: Socket, problem: Problem, context: RefusalContext): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { headers, body } = renderProblem(problem, context);
  const lines = Object.entries({ ...headers, Connection: 'close' }).map(([name, value]) => `${name}: ${value}`);
  const reason = STATUS_CODES[problem.status] ?? 'Error';
  socket.end(`HTTP/1.1 ${problem.status} ${reason}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
  const timer = setTimeout(() => socket.destroy(), LINGER);
  socket.once('close', () => clearTimeout(timer)).resume();
}

import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { MiddlewareHandler } from 'hono';
import { Problem } from '../problem.ts';
import { isLoopback } from '../process/loopback.ts';
import type { OperatorSettings } from '../snapshot.ts';

/** The bindings of @hono/node-server and what the first middleware notes. */
export interface OperatorEnv {
  Bindings: { incoming: IncomingMessage; outgoing: ServerResponse };
  Variables: { requestId: string };
}

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Lets operators in and nobody else. With a token: whoever sends it; a browser never sends it unasked, so no other site
 * can make it. Without one, everybody on this machine is an operator, but not every page in a browser on it: the Host
 * must be a loopback name, or a page whose name was made to resolve to loopback (DNS rebinding) could read everything,
 * and changes need a header that other origins cannot set.
 */
export function operatorsOnly(settings: OperatorSettings): MiddlewareHandler<OperatorEnv> {
  const { token } = settings;
  if (token !== undefined) {
    const expected = digest(token.reveal());
    return async (c, next) => {
      const given = /^Bearer +([^ ]+) *$/i.exec(c.req.header('Authorization') ?? '')?.[1];
      // Digests have one length, so that the comparison tells nothing of the token's.
      if (given === undefined || !timingSafeEqual(digest(given), expected)) throw unauthorized(given !== undefined);
      await next();
    };
  }
  return async (c, next) => {
    if (!SAFE.has(c.req.method)) requireOwnPage(c.env.incoming);
    await next();
  };
}

/** Without a token or client certificates the Host has to be a loopback name, whatever is asked for. */
export function loopbackHostOnly(settings: OperatorSettings): MiddlewareHandler<OperatorEnv> {
  const isLocked = settings.token !== undefined || settings.tls?.clientCa !== undefined;
  return async (c, next) => {
    if (!isLocked && !isLoopback(hostnameOf(c.env.incoming.headers.host))) {
      throw new Problem('forbidden', 'Without a token this listener answers to localhost and loopback addresses only.');
    }
    await next();
  };
}

function requireOwnPage({ headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site'];
  const isForeign =
    (site !== undefined && site !== 'same-origin' && site !== 'none') ||
    (headers.origin !== undefined && URL.parse(headers.origin)?.host !== headers.host);
  if (isForeign) throw new Problem('csrf', 'Another site may not do this.');
  if (headers['x-countersign'] !== '1') {
    throw new Problem('csrf', 'Without a token a change needs the header X-Countersign: 1.');
  }
}

function unauthorized(wasGiven: boolean): Problem {
  const error = wasGiven ? ', error="invalid_token"' : '';
  return new Problem('unauthorized', 'This needs the operator token as a bearer token.', {
    headers: { 'WWW-Authenticate': `Bearer realm="countersign operator"${error}` },
  });
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** The name in a Host header, without port and brackets; empty when there is none. */
function hostnameOf(host: string | undefined): string {
  const match = /^(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[^:[\]]+))(?::\d+)?$/i.exec(host ?? '');
  return match?.groups?.['v6'] ?? match?.groups?.['name'] ?? '';
}

import type { Inbound } from '../exchange.ts';
import { Problem } from '../problem.ts';
import type { Route, Tenant } from '../tenant.ts';

/** What of a request its route depends on. */
export type Routable = Pick<Inbound, 'method' | 'path' | 'encodedSlash'>;

/** A route whose path is the longest prefix of the request's, whatever its methods; undefined when there is none. */
export function matchRoute(tenant: Tenant, inbound: Pick<Routable, 'path'>): Route | undefined {
  const { path } = inbound;
  return tenant.routes.find((route) => isUnder(path, route.path));
}

/**
 * The route that decides on the request: that of the most specific path, never a shorter one, and among the routes of
 * that path the one that has the method. Throws Problem `no-route`, `method-not-allowed` (with Allow), or
 * `ambiguous-target` for an encoded slash that the route does not allow.
 */
export function findRoute(tenant: Tenant, inbound: Routable): Route {
  const specific = matchRoute(tenant, inbound);
  if (specific === undefined) {
    throw inbound.encodedSlash ? slashRefused() : new Problem('no-route', 'No route matches this path.');
  }
  const route = hasMethod(specific, inbound.method)
    ? specific
    : tenant.routes.find((other) => other.path === specific.path && hasMethod(other, inbound.method));
  if (route === undefined) throw methodNotAllowed(tenant, specific.path);
  if (inbound.encodedSlash) requireHarmlessSlash(tenant, inbound.path, route);
  return route;
}

/** Whether a request only reads, so that it needs no proof against CSRF. */
export function isSafe({ method }: Pick<Routable, 'method'>, route: Route): boolean {
  return method === 'GET' || method === 'HEAD' || (method === 'REPORT' && route.safeReport);
}

/** Prefix on segment boundaries; case is significant. */
function isUnder(path: string, prefix: string): boolean {
  if (!path.startsWith(prefix)) return false;
  return path.length === prefix.length || prefix === '/' || path[prefix.length] === '/';
}

function hasMethod({ methods }: Route, method: string): boolean {
  return methods.has(method) || (method === 'HEAD' && methods.has('GET'));
}

function methodNotAllowed(tenant: Tenant, path: string): Problem {
  const allowed = new Set<string>();
  for (const route of tenant.routes) {
    if (route.path !== path) continue;
    for (const method of route.methods) allowed.add(method);
  }
  if (allowed.has('GET')) allowed.add('HEAD');
  const allow = [...allowed].join(', ');
  return new Problem('method-not-allowed', `This path takes ${allow}.`, { headers: { Allow: allow } });
}

/**
 * An upstream that decodes slashes before it routes must come out on the route that was judged here: the path is looked up
 * again with every encoded slash and backslash read as a slash, and with the empty segments that makes left out.
 */
function requireHarmlessSlash(tenant: Tenant, path: string, route: Route): void {
  if (!route.encodedSlashes) throw slashRefused();
  const decoded = path.replace(/%2F|%5C/g, '/').replace(/\/+/g, '/');
  if (matchRoute(tenant, { path: decoded })?.path !== route.path) {
    throw new Problem('ambiguous-target', 'With its encoded slashes decoded the path belongs to another route.');
  }
}

function slashRefused(): Problem {
  return new Problem('ambiguous-target', 'The path has an encoded slash or backslash.');
}

import { serveStatic } from '@hono/node-server/serve-static';
import type { MiddlewareHandler } from 'hono';
import { Problem } from '../problem.ts';
import type { EdgeEnv } from './app.ts';

type Handler = MiddlewareHandler<EdgeEnv>;

/**
 * Serves a tenant's static files. A page the folder does not have is the front end's own route and gets index.html; a
 * script or an API call the folder does not have gets a 404, never a page. Files and folders that begin with a dot are
 * never served.
 */
export function siteFiles(): Handler {
  const byFolder = new Map<string, { file: Handler; index: Handler }>();
  const handlersOf = (folder: string) => {
    let handlers = byFolder.get(folder);
    if (handlers === undefined) {
      handlers = { file: serveStatic({ root: folder }), index: serveStatic({ root: folder, path: 'index.html' }) };
      byFolder.set(folder, handlers);
    }
    return handlers;
  };
  return async (c) => {
    const { tenant, target } = c.get('arrival');
    const isRead = c.req.method === 'GET' || c.req.method === 'HEAD';
    if (target.encodedSlash) throw new Problem('ambiguous-target', 'The path has an encoded slash or backslash.');
    if (tenant.site === undefined || !isRead || /\/\./.test(target.path)) throw noRoute();
    const handlers = handlersOf(tenant.site);
    const ignore = async () => undefined;
    let response = await handlers.file(c, ignore);
    if (!(response instanceof Response) && c.req.header('Accept')?.includes('text/html')) {
      response = await handlers.index(c, ignore);
    }
    if (!(response instanceof Response)) throw noRoute();
    response.headers.set('X-Content-Type-Options', 'nosniff');
    response.headers.set('Cache-Control', 'no-cache');
    for (const [name, value] of tenant.siteHeaders) response.headers.set(name, value);
    return response;
  };
}

function noRoute(): Problem {
  return new Problem('no-route', 'Nothing is served at this path.');
}

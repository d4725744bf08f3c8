import type { IncomingMessage, ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type Context, Hono } from 'hono';
import { etag } from 'hono/etag';
import type { Inbound } from '../exchange.ts';
import type { LoginMethods } from '../login/methods.ts';
import { countBytes } from '../observe/request-event.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Door, Visit } from './door.ts';
import { type Arrival, toInbound } from './intake.ts';
import { sessionEndpoints } from './own-endpoints.ts';
import { preflightHeaders } from './preflight.ts';
import { corsHeaders } from './refusal.ts';
import { siteFiles } from './site.ts';

/** The bindings of @hono/node-server and what the first middleware finds out. */
export interface EdgeEnv {
  Bindings: { incoming: IncomingMessage; outgoing: ServerResponse };
  Variables: { visit: Visit; arrival: Arrival };
}

export interface EdgeAppParts {
  readonly door: Door;
  readonly sessions: Sessions;
  readonly logins: LoginMethods;
  /** What the listener has found out already; undefined when the app is mounted in somebody else's server. */
  readonly admitted: (request: IncomingMessage) => { visit: Visit; arrival: Arrival } | undefined;
  readonly routed: (inbound: Inbound) => boolean;
  /** Sends a routed request upstream and its answer to `reply`; never throws. */
  readonly relay: (visit: Visit, inbound: Inbound, reply: ServerResponse) => void;
}

/** The whole edge as one Hono app: own endpoints, then the tenant's routes, then its site. */
export function createEdgeApp(parts: EdgeAppParts): Hono<EdgeEnv> {
  const { door } = parts;
  const app = new Hono<EdgeEnv>();

  app.get('/-/livez', (c) => c.json({ status: 'alive' }, 200, { 'Cache-Control': 'no-store' }));

  app.use('*', async (c, next) => {
    const { incoming, outgoing } = c.env;
    const known = parts.admitted(incoming);
    if (known === undefined) {
      const visit = door.open(incoming, 'http', 'mounted');
      door.logWhenOver(visit, outgoing);
      c.set('visit', visit);
      c.set('arrival', door.admit(visit));
    } else {
      c.set('visit', known.visit);
      c.set('arrival', known.arrival);
    }
    await next();
  });

  app.options('*', (c) => c.body(null, 204, preflightHeaders(c.get('arrival'))));

  app.use('/-/*', async (c, next) => {
    countBytes(c.get('visit').event, c.env.outgoing);
    await next();
    const { visit, arrival } = c.var;
    c.header('X-Request-ID', visit.event.requestId);
    for (const [name, value] of Object.entries(corsHeaders(arrival.tenant, visit.context.origin)))
      c.header(name, value);
  });
  app.route('/-', sessionEndpoints(parts));

  app.all('*', async (c, next) => {
    const inbound = toInbound(c.get('arrival'));
    if (inbound === undefined || !parts.routed(inbound)) return next();
    parts.relay(c.get('visit'), inbound, c.env.outgoing);
    return RESPONSE_ALREADY_SENT;
  });
  app.use('*', (c, next) => {
    countBytes(c.get('visit').event, c.env.outgoing);
    return next();
  });
  app.use('*', etag());
  app.all('*', siteFiles());

  app.onError((error, c: Context<EdgeEnv>) => {
    const visit = c.get('visit') ?? door.open(c.env.incoming, 'http', 'mounted');
    door.refuse(visit, c.env.outgoing, error);
    return RESPONSE_ALREADY_SENT;
  });
  return app;
}

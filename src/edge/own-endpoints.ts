import { type Context, Hono } from 'hono';
import type { LoginMethods } from '../login/methods.ts';
import { Problem } from '../problem.ts';
import { clearCookie, readSessionId, sessionCookieName, setCookie } from '../session/cookie.ts';
import { requireSameOrigin } from '../session/csrf.ts';
import { expiresAt, idleExpiresAt, type Session } from '../session/session.ts';
import type { Sessions } from '../session/sessions.ts';
import type { SessionOwner } from '../session/store.ts';
import type { Tenant } from '../tenant.ts';
import type { EdgeEnv } from './app.ts';
import type { Door } from './door.ts';
import { readJsonObject } from './json-body.ts';

/** Sessions of one user that are listed or ended at once all belong to a name; a visitor has none but its own. */
function ownerOf(session: Session): SessionOwner | undefined {
  return session.subject === undefined ? undefined : { tenant: session.tenant, subject: session.subject };
}

/** `/-/session` and `/-/sessions`: logging in and out, and looking after one's own sessions. */
export function sessionEndpoints(parts: { sessions: Sessions; logins: LoginMethods; door: Door }): Hono<EdgeEnv> {
  const { sessions, logins, door } = parts;
  const { trail } = door;
  const app = new Hono<EdgeEnv>();

  const cookieName = (c: Context<EdgeEnv>) => sessionCookieName(c.get('arrival').origin);
  const cookieId = (c: Context<EdgeEnv>) => {
    const cookie = readSessionId(c.env.incoming.rawHeaders, cookieName(c));
    return cookie.kind === 'id' ? cookie.id : undefined;
  };
  const current = async (c: Context<EdgeEnv>): Promise<Session | undefined> => {
    const { tenant } = c.get('arrival');
    const id = cookieId(c);
    const session = id === undefined ? undefined : await sessions.resolve(id, tenant.name);
    c.get('visit').event.session = session?.key;
    c.get('visit').event.subject = session?.subject;
    return session;
  };
  const required = async (c: Context<EdgeEnv>): Promise<Session> => {
    const session = await current(c);
    if (session === undefined) throw new Problem('unauthorized', 'There is no session.');
    return session;
  };
  const describe = (tenant: Tenant, session: Session | undefined) => ({
    authenticated: session !== undefined,
    tenant: tenant.name,
    ...(session?.subject !== undefined && { subject: session.subject }),
    roles: session?.roles ?? [],
    ...(session && {
      expiresAt: new Date(expiresAt(session)).toISOString(),
      idleExpiresAt: new Date(idleExpiresAt(session)).toISOString(),
    }),
    methods: logins.offered(tenant),
  });

  app.use('*', async (c, next) => {
    c.header('Cache-Control', 'no-store');
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD') {
      requireSameOrigin(c.env.incoming.headers, c.get('arrival').tenant.origins);
    }
    await next();
  });

  app.get('/session', async (c) => c.json(describe(c.get('arrival').tenant, await current(c))));

  app.post('/session', async (c) => {
    const { tenant, client } = c.get('arrival');
    door.countSessionCreation(c.get('visit'));
    if (c.get('visit').awaitsContinue) c.env.outgoing.writeContinue();
    const body = await readJsonObject(c.env.incoming);
    const { event } = c.get('visit');
    const identity = await logins.login({ tenant, body, client }).catch((thrown: unknown) => {
      trail.loginFailed(event, tenant, body, thrown);
      throw thrown;
    });
    const replaced = await current(c);
    const { id, session } = await sessions.open({ tenant: tenant.name, ...identity }, cookieId(c));
    event.session = session.key;
    if (replaced !== undefined) trail.revoked(event, replaced, 'login');
    trail.login(event, session);
    c.header('Set-Cookie', setCookie(cookieName(c), id, session));
    return c.json(describe(tenant, session), 201);
  });

  app.delete('/session', async (c) => {
    const session = await current(c);
    if (session !== undefined && (await sessions.end(session.key))) trail.logout(c.get('visit').event, session);
    c.header('Set-Cookie', clearCookie(cookieName(c)));
    c.header('Clear-Site-Data', '"cache", "cookies", "storage"');
    return c.body(null, 204);
  });

  app.get('/sessions', async (c) => {
    const session = await required(c);
    const owner = ownerOf(session);
    const all = owner === undefined ? [session] : await sessions.list(owner);
    return c.json({
      sessions: all.map((one) => ({
        id: one.key,
        current: one.key === session.key,
        method: one.method,
        createdAt: new Date(one.createdAt).toISOString(),
        seenAt: new Date(one.seenAt).toISOString(),
        expiresAt: new Date(expiresAt(one)).toISOString(),
      })),
    });
  });

  app.delete('/sessions', async (c) => {
    const session = await required(c);
    const owner = ownerOf(session);
    if (owner !== undefined) {
      const count = await sessions.endAll(owner, session.key);
      if (count > 0) trail.revokedOthers(c.get('visit').event, session, count);
    }
    return c.body(null, 204);
  });

  app.delete('/sessions/:id', async (c) => {
    const session = await required(c);
    const owner = ownerOf(session);
    const own = owner === undefined ? [session] : await sessions.list(owner);
    const target = own.find((one) => one.key === c.req.param('id'));
    if (target === undefined) throw new Problem('unknown-session', 'You have no session of this id.');
    if (await sessions.end(target.key)) trail.revoked(c.get('visit').event, target, 'user');
    if (target.key === session.key) c.header('Set-Cookie', clearCookie(cookieName(c)));
    return c.body(null, 204);
  });

  return app;
}

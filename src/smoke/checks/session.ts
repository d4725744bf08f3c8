import { type Check, NotApplicable, SIGNED_IN } from '../check.ts';
import { type Exchange, member } from '../exchange.ts';
import { cookieOf, FrontEnd, notOffered } from '../front-end.ts';

/** `/-/session` and `/-/sessions`. */
export const sessionChecks: readonly Check[] = [
  {
    id: 'session.anonymous',
    says: 'GET /-/session without a cookie says who nobody is and how to sign in',
    rule: 'design §11',
    needs: 'outside',
    async run(c) {
      const exchange = await c.nobody.fetch('GET', '/-/session');
      const { json } = exchange;
      exchange.must(exchange.status === 200 && member(json, 'authenticated') === false, '200 and authenticated false');
      exchange.must(typeof member(json, 'tenant') === 'string', 'the name of the tenant');
      const methods = member(json, 'methods');
      exchange.must(
        Array.isArray(methods) && methods.every((method) => typeof member(method, 'name') === 'string'),
        'methods: a list of {name}',
      );
    },
  },
  {
    id: 'session.unauthorized',
    says: 'an API call without a session is 401 unauthorized, with title and detail, and never a redirect',
    rule: 'design §11; service-api.md §7.4',
    needs: 'outside',
    async run(c) {
      for (const path of ['/v2', '/v2/kernel/create'])
        (await c.nobody.fetch('GET', path)).mustRefuse(401, 'unauthorized');
    },
  },
  {
    id: 'session.login',
    says: 'POST /-/session signs in: 201, a cookie, and who one is from now on',
    rule: 'design §11',
    needs: 'outside',
    async run(c) {
      const exchange = await c.login();
      cookieOf(exchange);
      const { json } = exchange;
      exchange.must(member(json, 'authenticated') === true, 'authenticated true');
      const roles = member(json, 'roles');
      exchange.must(Array.isArray(roles) && roles.length > 0, 'at least one role');
      const [expires, idle] = [instant(json, 'expiresAt'), instant(json, 'idleExpiresAt')];
      exchange.must(expires > Date.now() && idle > Date.now(), 'expiresAt and idleExpiresAt, dates in the future');
    },
  },
  {
    id: 'session.describes',
    says: 'GET /-/session with the cookie says the same, and no cache keeps it',
    rule: 'design §11',
    needs: 'outside',
    after: SIGNED_IN,
    async run(c) {
      const exchange = await (await c.user()).fetch('GET', '/-/session');
      const login = await c.login();
      for (const name of ['authenticated', 'tenant', 'subject', 'expiresAt']) {
        const [now, then] = [member(exchange.json, name), member(login.json, name)];
        exchange.must(now === then, `${name} to be ${JSON.stringify(then)} as at the login`);
      }
      exchange.must(exchange.header('cache-control') === 'no-store', 'Cache-Control: no-store');
    },
  },
  {
    id: 'session.list',
    says: 'GET /-/sessions lists the current session',
    rule: 'design §11',
    needs: 'outside',
    after: SIGNED_IN,
    async run(c) {
      const exchange = await (await c.user()).fetch('GET', '/-/sessions');
      const current = sessionsOf(exchange).filter((session) => member(session, 'current') === true);
      exchange.must(exchange.status === 200 && current.length === 1, '200 and one session that is current');
    },
  },
  {
    id: 'session.end-one',
    says: 'DELETE /-/sessions/{id} ends that session and no other; an unknown id is 404 unknown-session',
    rule: 'design §11',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const [first, second] = [await c.signIn(c.nobody, c.inside.admin), await c.signIn(c.nobody, c.inside.admin)];
      (await first.fetch('DELETE', '/-/sessions/smoke')).mustRefuse(404, 'unknown-session');
      const listed = sessionsOf(await second.fetch('GET', '/-/sessions'));
      const own = listed.find((session) => member(session, 'current') === true);
      const ending = await first.fetch('DELETE', `/-/sessions/${member(own, 'id')}`);
      ending.must(ending.status === 204, '204');
      await mustBeSignedIn(first, true);
      await mustBeSignedIn(second, false);
    },
  },
  {
    id: 'session.end-others',
    says: 'DELETE /-/sessions ends all sessions of the user but this one',
    rule: 'design §11',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const [first, second] = [await c.signIn(c.nobody, c.inside.admin), await c.signIn(c.nobody, c.inside.admin)];
      const ending = await first.fetch('DELETE', '/-/sessions');
      ending.must(ending.status === 204, '204');
      await mustBeSignedIn(first, true);
      await mustBeSignedIn(second, false);
    },
  },
  {
    id: 'session.rotation',
    says: 'a login gives a fresh id, and the one it came with is worth nothing any more',
    rule: 'design §5',
    needs: 'outside',
    after: SIGNED_IN,
    async run(c) {
      const before = await c.freshUser();
      const login = await before.signIn(await c.credentials());
      const after = before.withCookie(cookieOf(login));
      login.must(after.cookie !== before.cookie, 'a Set-Cookie with another id than the Cookie that was sent');
      await mustBeSignedIn(before, false);
      await mustBeSignedIn(after, true);
      await after.fetch('DELETE', '/-/session');
    },
  },
  {
    id: 'session.other-tenant',
    says: 'a cookie of one tenant is none at another',
    rule: 'design §5',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const { cookie } = await c.user();
      await mustBeSignedIn(new FrontEnd(c.inside.recorded, c, cookie), false);
    },
  },
  {
    id: 'session.logout',
    says: 'DELETE /-/session signs out: 204, the cookie cleared, Clear-Site-Data',
    rule: 'design §11',
    needs: 'outside',
    after: SIGNED_IN,
    async run(c) {
      const user = await c.freshUser();
      const exchange = await user.fetch('DELETE', '/-/session');
      exchange.must(exchange.status === 204, '204');
      const cleared = exchange.header('set-cookie') ?? '';
      const name = user.cookie.split('=', 1)[0] ?? '';
      exchange.must(
        cleared.startsWith(`${name}=;`) && /; *max-age=0(;|$)/i.test(cleared),
        'a Set-Cookie that clears it',
      );
      exchange.must(exchange.header('clear-site-data')?.includes('"cookies"') === true, 'Clear-Site-Data');
    },
  },
  {
    id: 'session.ended',
    says: 'after signing out the old cookie opens nothing',
    rule: 'design §5, §11',
    needs: 'outside',
    after: ['session.login', 'session.logout'],
    async run(c) {
      const user = await c.freshUser();
      await user.fetch('DELETE', '/-/session');
      await mustBeSignedIn(user, false);
      const exchange = await user.fetch('GET', '/v2');
      exchange.must(exchange.status >= 300, 'a refusal');
    },
  },
  {
    id: 'session.unknown-method',
    says: 'a login method that is not offered is 400 unknown-login-method',
    rule: 'design §6, §11',
    needs: 'outside',
    async run(c) {
      (await c.nobody.signIn({ method: 'smoke' })).mustRefuse(400, 'unknown-login-method');
    },
  },
  {
    id: 'session.wrong-password',
    says: 'an unknown name and password are 401 invalid-credentials',
    rule: 'design §6',
    needs: 'outside',
    async run(c) {
      if (!(await c.methods()).includes('password')) throw notOffered('password');
      const username = `smoke-${crypto.randomUUID()}`;
      const exchange = await c.nobody.signIn({ method: 'password', username, password: 'wrong' });
      if (exchange.status === 429) throw new NotApplicable('too many failed logins from this address before');
      exchange.mustRefuse(401, 'invalid-credentials');
    },
  },
];

/** Throws a Mismatch unless `GET /-/session` says so. */
async function mustBeSignedIn(user: FrontEnd, expected: boolean): Promise<void> {
  const exchange = await user.fetch('GET', '/-/session');
  exchange.must(member(exchange.json, 'authenticated') === expected, `authenticated ${expected}`);
}

function sessionsOf(exchange: Exchange): readonly unknown[] {
  const list = member(exchange.json, 'sessions');
  return Array.isArray(list) ? list : [];
}

/** Epoch milliseconds; NaN, which is less than any date, when the member is no ISO 8601 date. */
function instant(json: unknown, name: string): number {
  return Date.parse(String(member(json, name)));
}

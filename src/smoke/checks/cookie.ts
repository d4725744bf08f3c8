import { type Check, SIGNED_IN } from '../check.ts';
import type { SmokeContext } from '../context.ts';
import type { Exchange } from '../exchange.ts';
import { cookieOf, FrontEnd } from '../front-end.ts';

interface SetCookie {
  readonly exchange: Exchange;
  readonly name: string;
  readonly value: string;
  /** Lowercase name → value, empty where there is none. */
  readonly attributes: ReadonlyMap<string, string>;
}

/** The session cookie as the login sets it. */
async function setCookieOf(login: Promise<Exchange>): Promise<SetCookie> {
  const exchange = await login;
  const [pair = '', ...rest] = (exchange.headers('set-cookie')[0] ?? '').split(';');
  const attributes = rest.map((attribute): [string, string] => {
    const [name = '', value = ''] = attribute.split('=', 2);
    return [name.trim().toLowerCase(), value.trim()];
  });
  const equals = pair.indexOf('=');
  return { exchange, name: pair.slice(0, equals), value: pair.slice(equals + 1), attributes: new Map(attributes) };
}

/** A check of one property of the cookie. */
function property(id: string, says: string, expected: string, holds: (cookie: SetCookie) => boolean): Check {
  return {
    id,
    says,
    rule: 'design §5',
    needs: 'outside',
    after: SIGNED_IN,
    async run(c) {
      const cookie = await setCookieOf(c.login());
      cookie.exchange.must(holds(cookie), expected);
    },
  };
}

/** The session cookie's flags, and how it is read. */
export const cookieChecks: readonly Check[] = [
  property('cookie.http-only', 'scripts cannot read the cookie', 'Set-Cookie with HttpOnly', ({ attributes }) =>
    attributes.has('httponly'),
  ),
  property('cookie.same-site', 'no other site can send the cookie along', 'Set-Cookie with SameSite=Strict', (cookie) =>
    /^strict$/i.test(cookie.attributes.get('samesite') ?? ''),
  ),
  property(
    'cookie.no-domain',
    'sibling hosts do not get the cookie',
    'Set-Cookie without Domain',
    ({ attributes }) => !attributes.has('domain'),
  ),
  property(
    'cookie.path',
    'the cookie is for the whole host',
    'Set-Cookie with Path=/',
    ({ attributes }) => attributes.get('path') === '/',
  ),
  {
    id: 'cookie.secure',
    says: 'on https the cookie is Secure and named __Host-session; on plain http it is named session',
    rule: 'design §5',
    needs: 'outside',
    after: SIGNED_IN,
    async run(c) {
      const logins: [string, Promise<Exchange>][] = [[c.nobody.site.origin, c.login()]];
      if (c.isInside) {
        const visitor = new FrontEnd(c.inside.secure, c).signIn({ method: 'visitor' });
        logins.push([c.inside.secure.origin, visitor]);
      }
      for (const [origin, login] of logins) {
        const { exchange, name, attributes } = await setCookieOf(login);
        const isHttps = origin.startsWith('https:');
        const expected = isHttps ? '__Host-session' : 'session';
        exchange.must(name === expected, `a cookie named ${expected}`);
        exchange.must(!isHttps || attributes.has('secure'), 'Set-Cookie with Secure');
      }
    },
  },
  {
    id: 'cookie.id',
    says: 'the id is 256 random bits in base64url',
    rule: 'design §5',
    needs: 'outside',
    after: SIGNED_IN,
    async run(c) {
      const { exchange, value } = await setCookieOf(c.login());
      exchange.must(
        /^[A-Za-z0-9_-]{43}$/.test(value),
        '43 characters of base64url, 256 bits',
        `${value.length} characters`,
      );
      const other = await c.freshUser();
      exchange.must(!other.cookie.endsWith(value), 'another id at another login');
    },
  },
  {
    id: 'cookie.duplicate',
    says: 'two session cookies are refused, never guessed at',
    rule: 'design §5',
    needs: 'outside',
    after: SIGNED_IN,
    async run(c) {
      const { cookie } = await c.user();
      const name = cookie.split('=', 1)[0] ?? '';
      const planted = `${name}=${'A'.repeat(43)}`;
      for (const both of [`${cookie}; ${planted}`, `${planted}; ${cookie}`]) {
        (await c.nobody.withCookie(both).fetch('GET', '/v2')).mustRefuse(400, 'duplicate-cookie');
      }
    },
  },
  {
    id: 'cookie.malformed',
    says: 'a cookie the gateway never gave opens nothing',
    rule: 'design §5',
    needs: 'outside',
    after: ['session.login', 'session.unauthorized'],
    run: refuseForgedCookies,
  },
];

async function refuseForgedCookies(c: SmokeContext): Promise<void> {
  const name = cookieOf(await c.login()).split('=', 1)[0] ?? '';
  for (const value of ['', 'smoke', `"${'A'.repeat(43)}"`, 'A'.repeat(43)]) {
    const forger = c.nobody.withCookie(`${name}=${value}`);
    (await forger.fetch('GET', '/v2')).mustRefuse(401, 'unauthorized');
  }
}

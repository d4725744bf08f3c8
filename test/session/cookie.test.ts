import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Problem } from '../../src/problem.ts';
import { clearCookie, readSessionId, sessionCookieName, setCookie } from '../../src/session/cookie.ts';
import { newSession } from './fixture.ts';

const NAME = '__Host-session';
const ID = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN_-0';
const OTHER = `${ID.slice(1)}9`;

function read(...cookies: string[]) {
  return readSessionId(
    cookies.flatMap((cookie) => ['Cookie', cookie]),
    NAME,
  );
}

describe('readSessionId', () => {
  it.each([
    ['alone', [`${NAME}=${ID}`]],
    ['first', [`${NAME}=${ID}; theme=dark`]],
    ['last', [`theme=dark; ${NAME}=${ID}`]],
    ['without a space', [`theme=dark;${NAME}=${ID};x=1`]],
    ['after tabs', [`theme=dark;\t ${NAME}=${ID}`]],
    ['in the second of two headers', ['theme=dark', `${NAME}=${ID}`]],
    ['behind empty parts', [`;; ;${NAME}=${ID};`]],
  ])('finds the id %s', (_where, cookies) => {
    expect(read(...cookies)).toEqual({ kind: 'id', id: ID });
  });

  it('finds the header in any case', () => {
    expect(readSessionId(['accept', '*/*', 'COOKIE', `${NAME}=${ID}`], NAME)).toEqual({ kind: 'id', id: ID });
  });

  it.each([
    ['no cookie at all', []],
    ['other cookies', ['theme=dark; session=x']],
    ['a name that ends like ours', [`x${NAME}=${ID}`]],
    ['a name that begins like ours', [`${NAME}2=${ID}`]],
    ['our name in another case, which browsers do not protect', [`__host-session=${ID}`]],
    ['our name as a value', [`x=${NAME}=${ID}`]],
    ['our name without a value', [NAME]],
  ])('finds none in %s', (_what, cookies) => {
    expect(read(...cookies)).toEqual({ kind: 'none' });
  });

  it('looks at no header but Cookie', () => {
    expect(readSessionId(['X-Cookie', `${NAME}=${ID}`, 'Cookie2', `${NAME}=${ID}`], NAME)).toEqual({ kind: 'none' });
  });

  it.each([
    ['empty', ''],
    ['too short', ID.slice(1)],
    ['too long', `${ID}a`],
    ['quoted', `"${ID}"`],
    ['followed by a space', `${ID} `],
    ['in plain base64', `${ID.slice(0, 42)}+`],
    ['percent-encoded', `%61${ID.slice(1)}`],
    ['with a character outside ASCII', `${ID.slice(1)}é`],
    ['megabytes', 'a'.repeat(2_000_000)],
  ])('calls a value malformed that is %s', (_what, value) => {
    expect(read(`${NAME}=${value}`)).toEqual({ kind: 'malformed' });
  });

  it.each([
    ['in one header', [`${NAME}=${ID}; ${NAME}=${OTHER}`]],
    ['over two headers', [`${NAME}=${ID}`, `${NAME}=${OTHER}`]],
    ['with the same value', [`${NAME}=${ID}; ${NAME}=${ID}`]],
    ['one of them empty', [`${NAME}=; ${NAME}=${ID}`]],
    ['one of them malformed', [`${NAME}=${ID}; a=b`, `c=d; ${NAME}="x"`]],
  ])(
    'refuses two cookies of the name %s (attack: a planted cookie beside the real one) and clears it',
    (_how, cookies) => {
      expect(() => read(...cookies)).toThrow(
        expect.objectContaining({
          code: 'duplicate-cookie',
          status: 400,
          headers: { 'Set-Cookie': `${NAME}=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict; Secure` },
        }),
      );
    },
  );

  it.each(['\u00a0', '\u2000', '\u3000', '\ufeff', '\v', '\u0085'])(
    'does not take a name behind an exotic space %j for ours (attack: it evades the browser’s __Host- rule)',
    (space) => {
      expect(read(`${space}${NAME}=${ID}`)).toEqual({ kind: 'none' });
      expect(read(`${NAME}${space}=${ID}`)).toEqual({ kind: 'none' });
      expect(read(`${space}${NAME}=${OTHER}; ${NAME}=${ID}`)).toEqual({ kind: 'id', id: ID });
    },
  );

  it('finds exactly the cookie that was set among any others, and never throws but for duplicates', () => {
    const other = fc.tuple(fc.stringMatching(/^[A-Za-z0-9_-]{0,20}$/), fc.stringMatching(/^[^;]*$/));
    const others = fc.array(other.filter(([name]) => name !== NAME).map((pair) => pair.join('=')));
    fc.assert(
      fc.property(others, others, (before, after) => {
        expect(read([...before, `${NAME}=${ID}`, ...after].join('; '))).toEqual({ kind: 'id', id: ID });
        expect(read(...before, `${NAME}=${ID}`, ...after)).toEqual({ kind: 'id', id: ID });
        expect(read([...before, ...after].join('; '))).toEqual({ kind: 'none' });
      }),
    );
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (values) => {
        try {
          expect(['none', 'malformed', 'id']).toContain(read(...values).kind);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(Problem);
        }
      }),
    );
  });
});

describe('the Set-Cookie of a session', () => {
  const session = newSession({ lifetime: { idle: 60_000, absolute: 90_500 } });

  it('is bound to the host, https and the site, and lives as long as the session may', () => {
    expect(sessionCookieName('https://console.acme.example')).toBe(NAME);
    expect(setCookie(NAME, ID, session)).toBe(`${NAME}=${ID}; Max-Age=90; Path=/; HttpOnly; SameSite=Strict; Secure`);
  });

  it('has a plain name and no Secure on http, where browsers would refuse both', () => {
    expect(sessionCookieName('http://localhost:8080')).toBe('session');
    expect(setCookie('session', ID, session)).toBe(`session=${ID}; Max-Age=90; Path=/; HttpOnly; SameSite=Strict`);
    expect(clearCookie('session')).toBe('session=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict');
  });
});

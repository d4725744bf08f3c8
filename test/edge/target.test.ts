import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalTarget, stripMount } from '../../src/edge/target.ts';
import { Problem } from '../../src/problem.ts';

const HOST = 'console.acme.example';

function refused(raw: string, host = HOST): string {
  try {
    canonicalTarget(raw, host);
  } catch (thrown) {
    if (thrown instanceof Problem && thrown.code === 'ambiguous-target') return thrown.detail;
    throw thrown;
  }
  throw new Error(`accepted: ${raw}`);
}

describe('what passes', () => {
  it.each([
    ['/', '/', undefined],
    ['/v2', '/v2', undefined],
    ['/v2/', '/v2/', undefined],
    ['/v2/kernel?', '/v2/kernel', ''],
    ['/v2/kernel?b=2&a=1&a=1', '/v2/kernel', 'b=2&a=1&a=1'],
    ['/v2/kernel?next=//evil/../x%2F%5c??', '/v2/kernel', 'next=//evil/../x%2F%5c??'],
    ['/v2/...', '/v2/...', undefined],
    ['/v2/.hidden/x..y/..z', '/v2/.hidden/x..y/..z', undefined],
    ['/v2/%61dmin/%67ql', '/v2/admin/gql', undefined],
    ['/v2/%C3%A9', '/v2/\u00c3\u00a9', undefined],
    ['/v2/%252e%252e/x', '/v2/%2e%2e/x', undefined],
    ["/v2/a-._~!$&'()*+,;=:@b", "/v2/a-._~!$&'()*+,;=:@b", undefined],
  ])('%s passes byte for byte', (raw, path, query) => {
    expect(canonicalTarget(raw, HOST)).toEqual({ target: raw, path, query, encodedSlash: false });
  });

  it.each([
    ['/v2/a%2fb', '/v2/a%2Fb'],
    ['/v2/a%2Fb%20c', '/v2/a%2Fb c'],
    ['/v2/a%5cb', '/v2/a%5Cb'],
  ])('%s keeps its encoded slash and says so', (raw, path) => {
    expect(canonicalTarget(raw, HOST)).toEqual({ target: raw, path, query: undefined, encodedSlash: true });
  });
});

describe('what is refused', () => {
  // A dot segment is resolved by some and taken literally by others: judged below one route, served below another.
  it.each([
    '/v2/..',
    '/v2/.',
    '/../v2',
    '/v2/../admin',
    '/v2/./kernel',
    '/v2/..?x',
    '/v2/%2e%2e/admin',
    '/v2/%2E%2e/admin',
    '/v2/.%2e/admin',
    '/v2/%2E./admin',
    '/v2/%2e',
    '/%2e%2e',
  ])('a dot segment: %s', (raw) => {
    expect(refused(raw)).toContain('dot segment');
  });

  // Between encoded slashes it is one for whoever decodes first and resolves then.
  it.each(['/v2/files/..%2F..%2fadmin', '/v2/files/%2e%2e%2fadmin', '/v2/files%5c..', '/v2/a%2F.%2Fb'])(
    'a dot segment behind an encoded slash: %s',
    (raw) => {
      expect(refused(raw)).toContain('dot segment');
    },
  );

  // Merged by nginx and others; at the start it is a network-path reference whose first segment is a host.
  it.each(['//', '//evil.example/v2', '/v2//admin', '/v2//', '/v2/kernel//?x'])('an empty segment: %s', (raw) => {
    expect(refused(raw)).toContain('empty segment');
  });

  it.each([
    ['/v2\\admin', 'backslash'],
    ['/v2?x=\\', 'backslash'],
    ['/v2#/admin', 'fragment'],
    ['/v2?x#', 'fragment'],
    ['/v2/a b', 'space'],
    ['/v2?a b', 'space'],
    ['/v2/\u0000', 'control'],
    ['/v2\r\nX: 1', 'control'],
    ['/v2?\u007f', 'outside ASCII|control'],
    ['/v2/\u00e9', 'outside ASCII'],
    ['/v2?\u{1f600}', 'outside ASCII'],
    ['/v2/%', 'percent'],
    ['/v2/%2', 'percent'],
    ['/v2/%zz', 'percent'],
    ['/v2?x=%', 'percent'],
    ['/v2?x=%f', 'percent'],
    ['/v2?%g0', 'percent'],
    ['/v2/%u002e', 'percent'],
  ])('%j', (raw, detail) => {
    expect(refused(raw)).toMatch(new RegExp(detail));
  });

  it.each([
    '',
    '*',
    'v2/kernel',
    'console.acme.example:443',
    '?x',
    'ftp://console.acme.example/',
    'javascript:alert(1)',
  ])('a target that is no path: %j', (raw) => {
    expect(refused(raw)).toContain('neither a path nor');
  });

  it('is told apart without echoing what was sent', () => {
    for (const raw of ['/<script>\u0000', '/\u001b[31m', 'evil<b>', 'http://evil"/', '/a/../secret-token']) {
      expect(refused(raw)).toMatch(/^[\x20-\x7e]+$/);
      expect(refused(raw)).not.toMatch(/script|evil|secret-token/);
    }
  });
});

describe('absolute-form', () => {
  it.each([
    ['http://console.acme.example/v2?x', HOST, '/v2?x'],
    ['https://console.acme.example/v2', HOST, '/v2'],
    ['HTTP://CONSOLE.acme.example/v2', HOST, '/v2'],
    ['http://console.acme.example', HOST, '/'],
    ['http://console.acme.example?x', HOST, '/?x'],
    ['http://console.acme.example:80/v2', HOST, '/v2'],
    ['https://console.acme.example/v2', `${HOST}:443`, '/v2'],
    ['http://console.acme.example:8080/v2', `${HOST}:8080`, '/v2'],
    ['http://[::1]:8080/v2', '[::1]:8080', '/v2'],
  ])('%s for Host %s counts as %s', (raw, host, target) => {
    expect(canonicalTarget(raw, host).target).toBe(target);
  });

  // Routed and signed by one name, served by another.
  it.each([
    ['http://evil.example/v2', HOST],
    ['http://console.acme.example:8080/v2', HOST],
    ['http://console.acme.example:443/v2', HOST],
    ['https://console.acme.example:80/v2', HOST],
    ['http://console.acme.example./v2', HOST],
    ['http:///v2', HOST],
  ])('%s is refused for Host %s', (raw, host) => {
    expect(refused(raw, host)).toContain('is not the Host');
  });

  it.each([
    'http://user@console.acme.example/v2',
    'http://console.acme.example@evil.example/',
    'http://a:b@console.acme.example',
  ])('%s is refused: user information', (raw) => {
    expect(refused(raw)).toContain('user information');
  });

  it('obeys the same rules behind the authority', () => {
    expect(refused('http://console.acme.example//v2')).toContain('empty segment');
    expect(refused('http://console.acme.example/v2/%2e%2e')).toContain('dot segment');
    expect(refused('http://console.acme.example\\@evil.example/')).toContain('user information');
    expect(refused('http://console.acme.example#@evil.example/')).toContain('fragment');
  });
});

describe('the mount', () => {
  const strip = (raw: string) => stripMount(canonicalTarget(raw, HOST), '/api');

  it.each([
    ['/api/v2/kernel?x=%2f', '/v2/kernel?x=%2f', '/v2/kernel'],
    ['/api', '/', '/'],
    ['/api/', '/', '/'],
    ['/api?', '/?', '/'],
    ['/%61p%69/v2/%61', '/v2/%61', '/v2/a'],
    ['/api/a%2fb', '/a%2fb', '/a%2Fb'],
  ])('of %s leaves %s', (raw, target, path) => {
    expect(strip(raw)).toMatchObject({ target, path });
  });

  it.each(['/apis/v2', '/v2/api', '/', '/API/v2', '/api%2Fv2', '/api;x/v2'])('%s is not under it', (raw) => {
    expect(strip(raw)).toBeUndefined();
  });

  it('takes nothing but the prefix away', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^(?:\/[a-z]{1,5}){0,3}(?:\?[a-z=&%2F]*)?$/), (rest) => {
        fc.pre(!/%(?!2F)/.test(rest));
        const stripped = strip(`/api${rest}`);
        const expected = canonicalTarget(rest.startsWith('/') ? rest : `/${rest}`, HOST);
        expect(stripped).toEqual(expected);
      }),
    );
  });
});

describe('for any text', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '/',
      '//',
      '.',
      '..',
      '/..',
      '/.',
      '%2e',
      '%2E',
      '%2f',
      '%5C',
      '\\',
      '#',
      '?',
      '%',
      '%4',
      '%41',
      ' ',
      '\0',
    ),
    fc.constantFrom('http://', 'https://', HOST, ':80', '@', '*', '%c3%a9', '\u00e9', '\r\n', ';', '+', '&'),
    fc.stringMatching(/^[a-z]{1,3}$/),
    fc.string({ maxLength: 3 }),
  );
  const text = fc.array(piece, { maxLength: 10 }).map((pieces) => pieces.join(''));
  const path = text.map((rest) => `/${rest}`);

  const tried = (raw: string) => {
    try {
      return canonicalTarget(raw, HOST);
    } catch (thrown) {
      if (thrown instanceof Problem && thrown.code === 'ambiguous-target') return undefined;
      throw thrown;
    }
  };

  it('only ever refuses with a Problem, and never accepts an ambiguous form', () => {
    fc.assert(
      fc.property(fc.oneof(text, path), (raw) => {
        const accepted = tried(raw);
        if (accepted === undefined) return;
        const [rawPath = '', ...query] = accepted.target.split('?');
        expect(raw.endsWith(accepted.target) || accepted.target === '/' || raw.endsWith(accepted.target.slice(1))).toBe(
          true,
        );
        expect(accepted.target).toMatch(/^\/(?:[!"$&-[\]-~]|%[0-9a-f]{2})*$/i);
        expect(rawPath).not.toContain('//');
        for (const segment of unescaped(rawPath).split(/[/\\]/)) {
          expect(segment).not.toMatch(/^\.\.?$/);
        }
        expect(accepted.query).toBe(accepted.target.includes('?') ? query.join('?') : undefined);
      }),
      { numRuns: 3000 },
    );
  });

  it('returns an origin-form target byte for byte and decodes its path as another decoder does', () => {
    fc.assert(
      fc.property(path, (raw) => {
        const accepted = tried(raw);
        fc.pre(accepted !== undefined);
        expect(accepted?.target).toBe(raw);
        const rawPath = raw.split('?', 1)[0] ?? '';
        const kept = rawPath.replace(/%2f/gi, '%252F').replace(/%5c/gi, '%255C');
        expect(accepted?.path).toBe(unescaped(kept));
        expect(accepted?.encodedSlash).toBe(/%2f|%5c/i.test(rawPath));
      }),
      { numRuns: 3000 },
    );
  });

  it('judges an escaped path as the plain one', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^(?:\/[a-z.]{1,4}){1,4}$/),
        fc.array(fc.boolean(), { maxLength: 20 }),
        (plain, choice) => {
          const escaped = [...plain].map((char, i) =>
            choice[i] && char !== '/' ? `%${char.charCodeAt(0).toString(16)}` : char,
          );
          expect(tried(escaped.join(''))?.path).toBe(tried(plain)?.path);
        },
      ),
    );
  });
});

/** Another decoder than the one under test: one regular expression, one byte at a time. */
function unescaped(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => Buffer.from(hex, 'hex').toString('latin1'));
}

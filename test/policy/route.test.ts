import { describe, expect, it } from 'vitest';
import { canonicalTarget } from '../../src/edge/target.ts';
import type { Method } from '../../src/exchange.ts';
import { findRoute, matchRoute } from '../../src/policy/route.ts';
import { problemOf, refusal, route, tenant } from './fixture.ts';

const reads = route('/v2/kernel', { methods: new Set(['GET']) });
const writes = route('/v2/kernel', { methods: new Set(['POST', 'PATCH']) });
const everything = route('/v2');
const admin = route('/v2/admin/gql', { methods: new Set(['POST']), roles: new Set(['admin']) });
const files = route('/v2/files', { encodedSlashes: true });
const secrets = route('/v2/files/secrets', { roles: new Set(['admin']) });
const acme = tenant(everything, reads, writes, admin, files, secrets);

/** The route of a target as a client sends it. */
function find(target: string, method: Method = 'GET', of = acme) {
  return findRoute(of, { method, ...canonicalTarget(target, 'console.acme.example') });
}

describe('the most specific path', () => {
  it.each([
    ['/v2', everything],
    ['/v2/', everything],
    ['/v2/vfolder?path=/v2/kernel', everything],
    ['/v2/kernels', everything],
    ['/v2/kernel', reads],
    ['/v2/kernel/', reads],
    ['/v2/kernel/abc', reads],
    ['/v2/Kernel', everything],
    ['/v2/kernel;x', everything],
  ])('of %s decides', (target, expected) => {
    expect(find(target)).toBe(expected);
  });

  it.each(['/', '/v3', '/v20', '/V2', '/kernel'])('is none for %s', (target) => {
    expect(refusal(() => find(target))).toBe('no-route');
    expect(matchRoute(acme, { path: target })).toBeUndefined();
  });

  it('may be the root, under which everything is', () => {
    const all = tenant(route('/'), admin);
    expect(find('/anything/at/all', 'GET', all).path).toBe('/');
    expect(find('/', 'GET', all).path).toBe('/');
    expect(find('/v2/admin/gql', 'POST', all)).toBe(admin);
  });

  // The upstream decodes %61dmin before it routes, so a rule for /v2/admin/gql that looks at the raw text is no rule.
  it.each(['/v2/%61dmin/gql', '/v2/admin/%67%71%6C', '/%762/admin/gql/'])('is judged decoded: %s', (target) => {
    expect(find(target, 'POST')).toBe(admin);
  });
});

describe('methods', () => {
  it('pick among the routes of one path', () => {
    expect(find('/v2/kernel', 'POST')).toBe(writes);
    expect(find('/v2/kernel/a', 'PATCH')).toBe(writes);
  });

  it('let HEAD follow GET', () => {
    expect(find('/v2/kernel', 'HEAD')).toBe(reads);
    expect(refusal(() => find('/v2/admin/gql', 'HEAD'))).toBe('method-not-allowed');
  });

  it('that no route of the path has are refused with all it has', () => {
    expect(problemOf(() => find('/v2/kernel', 'DELETE'))).toMatchObject({
      code: 'method-not-allowed',
      headers: { Allow: 'GET, POST, PATCH, HEAD' },
    });
  });

  // Were GET /v2/admin/gql to fall through to /v2, every visitor could run a GraphQL query by GET that nobody judged.
  it('never fall through to a shorter path that has them', () => {
    expect(everything.methods.has('GET')).toBe(true);
    expect(problemOf(() => find('/v2/admin/gql?query={x}', 'GET'))).toMatchObject({
      code: 'method-not-allowed',
      headers: { Allow: 'POST' },
    });
  });
});

describe('encoded slashes', () => {
  it.each(['/v2/vfolder/a%2Fb', '/v2/vfolder/a%5Cb', '/v2/vfolder%2f'])(
    'are refused where none is expected: %s',
    (target) => {
      expect(refusal(() => find(target))).toBe('ambiguous-target');
    },
  );

  it.each(['/v2/files/a%2Fb', '/v2/files/a%5cb', '/v2/files/http:%2F%2Fhost', '/v2/files/secrets.txt%2F'])(
    'pass where the route allows them: %s',
    (target) => {
      expect(find(target)).toBe(files);
    },
  );

  /*
   * The attack: /v2/files is open to visitors, /v2/files/secrets to administrators. With its slash encoded the path is
   * under the first only; an upstream that decodes slashes before it routes serves the second. A slash too many, which
   * many upstreams merge, and a backslash, which some take for a slash, must not hide it either.
   */
  it.each([
    '/v2/files%2Fsecrets',
    '/v2/files/secrets%2Fkey',
    '/v2/files%2fsecrets%2fkey',
    '/v2/files%5Csecrets',
    '/v2/files/%2Fsecrets/key',
    '/v2/files%2F%2Fsecrets',
    '/v2/files/%5c%2Fsecrets',
    '/v2/files/%73ecrets%2Fkey',
  ])('never lead past a more specific route: %s', (target) => {
    expect(refusal(() => find(target))).toBe('ambiguous-target');
  });

  it('are refused where there is no route to allow them', () => {
    for (const target of ['/v2%2Ffiles/a', '/v3/a%2Fb']) expect(refusal(() => find(target))).toBe('ambiguous-target');
  });
});

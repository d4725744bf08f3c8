import { describe, expect, it } from 'vitest';
import type { Inbound } from '../../src/exchange.ts';
import { admit, decide } from '../../src/policy/decide.ts';
import type { Route } from '../../src/tenant.ts';
import { inbound, problemOf, refusal, route, session, withBody } from './fixture.ts';

const plain = route('/v2', { ownerAccessKey: new Set(['admin']) });
const forms = route('/v2', { contentTypes: new Set(['application/x-www-form-urlencoded', 'image/png']) });
const gql = route('/v2/admin/gql', {
  graphql: {
    fields: new Map([
      ['visitor', new Set(['groups'])],
      ['admin', new Set(['create_group'])],
    ]),
    maxDepth: 10,
    maxTokens: 1000,
  },
});
const visitor = session('visitor');
const admin = session('admin');

/** Judges a request with this body in memory, head and body. */
function send(body: string, of: Route = plain, who = visitor, request: Partial<Parameters<typeof withBody>[1]> = {}) {
  const bytes = Buffer.from(body);
  return decide(admit(withBody(bytes.length, request), who, of), bytes);
}

describe('the role that acts', () => {
  const restricted = route('/v2', { roles: new Set(['admin', 'auditor']) });

  it('is the first of the session’s that the route lets in, and its keypair signs', () => {
    expect(admit(inbound(), session('visitor', 'admin'), plain)).toMatchObject({
      role: 'visitor',
      keypair: { accessKey: 'AKIAVISITOR' },
    });
    expect(admit(inbound(), session('visitor', 'admin'), restricted)).toMatchObject({
      role: 'admin',
      keypair: { accessKey: 'AKIAADMIN' },
    });
  });

  it('needs a keypair', () => {
    expect(admit(inbound(), session('auditor', 'admin'), restricted).role).toBe('admin');
    expect(refusal(() => admit(inbound(), session('auditor'), restricted))).toBe('forbidden');
  });

  it.each([[[]], [['visitor']], [['Admin']], [['nobody', 'visitor']]])('is missing from %j', (roles) => {
    expect(refusal(() => admit(inbound(), session(...roles), restricted))).toBe('forbidden');
  });
});

describe('before the body', () => {
  it('a declared length past the limit is refused, and the connection with it', () => {
    const small = route('/v2', { maxBody: 100 });
    expect(() => admit(withBody(100), visitor, small)).not.toThrow();
    expect(problemOf(() => admit(withBody(101), visitor, small))).toMatchObject({
      code: 'body-too-large',
      close: true,
    });
    expect(() => admit(withBody(0, { body: { kind: 'chunked' } }), visitor, small)).not.toThrow();
  });

  it('the media type is judged', () => {
    expect(refusal(() => admit(withBody(1, { headers: ['Content-Type', 'text/plain'] }), visitor, plain))).toBe(
      'unsupported-media-type',
    );
    expect(refusal(() => admit(withBody(1, { headers: [] }), visitor, plain))).toBe('unsupported-media-type');
  });

  it('owner_access_key in the query is refused unless the role may name it, once', () => {
    const named = (query: string): Inbound => inbound({ query });
    expect(refusal(() => admit(named('owner%5Faccess_key=AKIA'), visitor, plain))).toBe('owner-access-key');
    expect(() => admit(named('owner_access_key=AKIA'), admin, plain)).not.toThrow();
    expect(refusal(() => admit(named('owner_access_key=A&ownerAccessKey=B'), admin, plain))).toBe('owner-access-key');
  });

  it('a GraphQL route takes POST with a body only', () => {
    expect(refusal(() => admit(inbound({ path: '/v2/admin/gql' }), visitor, gql))).toBe('graphql-invalid');
    expect(refusal(() => admit(inbound({ method: 'POST' }), visitor, gql))).toBe('graphql-invalid');
    expect(refusal(() => admit(withBody(10, { query: 'query={x}' }), visitor, gql))).toBe('graphql-invalid');
  });

  it.each([
    ['no body', inbound(), plain, false],
    ['a JSON body', withBody(2), plain, true],
    ['a chunked JSON body', withBody(0, { body: { kind: 'chunked' } }), plain, true],
    ['a form', withBody(2, { headers: ['Content-Type', 'application/x-www-form-urlencoded'] }), forms, true],
    ['an upload of another listed type', withBody(2, { headers: ['Content-Type', 'image/png'] }), forms, false],
    ['a GraphQL request', withBody(2), gql, true],
  ] as const)('it is said whether the body must be in memory: %s', (_, request, of, inspects) => {
    expect(admit(request, visitor, of).inspectsBody).toBe(inspects);
  });
});

describe('with the body', () => {
  it('a permit is what was admitted', () => {
    const admission = admit(inbound(), visitor, plain);
    expect(decide(admission, undefined)).toEqual(admission);
    expect(send('{"name":"x"}')).toMatchObject({ role: 'visitor', route: plain });
    expect(send('{not json, and nothing to hide}')).toMatchObject({ role: 'visitor' });
  });

  it('owner_access_key in it is refused unless the role may name it', () => {
    expect(refusal(() => send('{"owner_access_key":"AKIA"}'))).toBe('owner-access-key');
    expect(() => send('{"owner_access_key":"AKIA"}', plain, admin)).not.toThrow();
    const form = { headers: ['Content-Type', 'application/x-www-form-urlencoded'] };
    expect(refusal(() => send('owner%5faccess_key=AKIA', forms, visitor, form))).toBe('owner-access-key');
  });

  // One in the query and one in the body: which of them the upstream heeds is its secret.
  it('and in the query is refused to every role', () => {
    const query = 'owner_access_key=AKIA';
    expect(refusal(() => send('{"owner_access_key":"AKIA"}', plain, admin, { query }))).toBe('owner-access-key');
    expect(() => send('{"name":"x"}', plain, admin, { query })).not.toThrow();
  });

  it('a body that must be inspected is never taken unread', () => {
    const admission = admit(withBody(2), visitor, plain);
    expect(() => decide(admission, undefined)).toThrow(TypeError);
  });

  it('GraphQL is judged by the role that acts', () => {
    const create = JSON.stringify({ query: 'mutation { create_group(name: "a") { ok } }' });
    expect(refusal(() => send(create, gql))).toBe('graphql-operation');
    expect(send(create, gql, admin)).toMatchObject({ role: 'admin' });
    expect(send('{"query":"{ groups { name } }"}', gql)).toMatchObject({ role: 'visitor' });
    expect(refusal(() => send('', gql))).toBe('invalid-body');
  });

  it('GraphQL variables are searched for owner_access_key like any JSON', () => {
    const body = JSON.stringify({ query: '{ groups { name } }', variables: { props: { owner_access_key: 'AKIA' } } });
    expect(refusal(() => send(body, gql))).toBe('owner-access-key');
  });
});

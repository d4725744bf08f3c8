import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { formatFault } from '../../src/config/fault.ts';
import { faultsOf, load, MINIMAL } from './fixture.ts';

const ENV = { VISITOR_SECRET: 'the-visitor-secret' };

const places = (text: string, env = ENV, files = {}) =>
  faultsOf(text, env, files).map(({ line, path, message }) => `${line} ${path}: ${message}`);

describe('a sound configuration', () => {
  it('resolves secrets, hosts, routes and defaults', () => {
    const { snapshot, warnings } = load(MINIMAL, ENV);
    const site = snapshot.sites.get('console.acme.example');
    expect(site?.origin).toBe('https://console.acme.example');
    expect(snapshot.sites.get('console.acme.example:443')?.tenant).toBe(site?.tenant);
    expect(site?.tenant.keypairs.get('visitor')?.pick(0)?.secretKey.reveal()).toBe('the-visitor-secret');
    expect(site?.tenant.upstream.dialect.scheme).toBe('Service');
    expect(site?.tenant.routes[0]).toMatchObject({ path: '/v2', maxBody: 10 * 1024 * 1024, encodedSlashes: false });
    expect(snapshot.sessions.lifetime).toEqual({ idle: 30 * 60_000, absolute: 12 * 3_600_000 });
    expect(warnings).toEqual([]);
  });

  it('reads secrets and users from files relative to its own folder', () => {
    const text = MINIMAL.replace('{ env: VISITOR_SECRET }', '{ file: visitor-secret }').replace(
      'visitor: { role: visitor }',
      'password: { users: users.yaml }',
    );
    const users = 'ada: { password: "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA", roles: [visitor] }';
    const { snapshot } = load(text, {}, { 'visitor-secret': 'from a file\n', 'users.yaml': users });
    const tenant = snapshot.tenants[0];
    expect(tenant?.keypairs.get('visitor')?.pick(0)?.secretKey.reveal()).toBe('from a file');
    expect(tenant?.login.password?.users.get('ada')?.roles).toEqual(['visitor']);
    expect(tenant?.login.password?.lifetime).toEqual(snapshot.sessions.lifetime);
  });

  it('puts the longest route first, so that a broad one listed early hides nothing', () => {
    const text = `${MINIMAL}      - { path: /v2/admin/gql, roles: [visitor] }\n`;
    expect(load(text, ENV).snapshot.tenants[0]?.routes.map(({ path }) => path)).toEqual(['/v2/admin/gql', '/v2']);
  });

  it('never prints a secret, however the snapshot is printed', () => {
    const { snapshot } = load(MINIMAL, ENV);
    const printed = `${inspect(snapshot, { depth: 12, showHidden: true })}${JSON.stringify(snapshot.tenants[0]?.keypairs.get('visitor'))}${snapshot.tenants[0]?.keypairs.get('visitor')}`;
    expect(printed).toContain('AKIAVISITOR');
    expect(printed).not.toContain('the-visitor-secret');
  });

  it('warns of a secret that stands in the file', () => {
    const text = MINIMAL.replace('{ env: VISITOR_SECRET }', 'in-the-file');
    expect(load(text).warnings.map(formatFault).join()).toMatch(
      /:9:\d+: tenants\.acme\.keypairs\.visitor\.secretKey: /,
    );
  });
});

describe('faults', () => {
  it('are all reported at once, of shape and of meaning, each with its line', () => {
    const text = `
listen: { port: 99999, hots: x }
drain: soon
tenants:
  acme:
    origins: [https://console.acme.example/app]
    upstream: { endpoints: [], version: 4 }
    keypairs: {}
    login: {}
    routes: []
  globex:
    origins: [https://globex.example]
    upstream: { endpoints: [https://api.service.example], version: v4.20190315 }
    keypairs:
      visitor: { accessKey: AKIAVISITOR, secretKey: { env: NOT_SET } }
    login:
      visitor: { role: guest }
    routes:
      - { path: /v2, roles: [admin] }
`;
    expect(places(text)).toEqual([
      expect.stringMatching(/^2 listen\.port: /),
      '2 listen.hots: unknown key',
      expect.stringMatching(/^3 drain: expected a duration such as/),
      expect.stringMatching(/^6 tenants\.acme\.origins\[0\]: expected an origin/),
      expect.stringMatching(/^7 tenants\.acme\.upstream\.endpoints: /),
      expect.stringMatching(/^7 tenants\.acme\.upstream\.version: /),
      '15 tenants.globex.keypairs.visitor.secretKey: environment variable NOT_SET is not set',
      '17 tenants.globex.login.visitor.role: role "guest" has no keypair under keypairs',
      '19 tenants.globex.routes[0].roles[0]: role "admin" has no keypair under keypairs',
    ]);
  });

  it.each([
    [
      'a secret file that is missing',
      ['{ env: VISITOR_SECRET }', '{ file: nope }'],
      /^9 .*secretKey: secret file .*nope cannot be read \(ENOENT\)$/,
    ],
    ['a wrong secret reference', ['{ env: VISITOR_SECRET }', '{ env: 5 }'], /^9 .*secretKey\.env: expected a text/],
    [
      'no login method',
      ['visitor: { role: visitor }\n    routes', '{}\n    routes'],
      /^10 tenants\.acme\.login: no login method/,
    ],
    [
      'a route below the gateway’s own paths',
      ['path: /v2', 'path: /-/x'],
      /^13 .*path: paths below \/-\/ are the gateway/,
    ],
    ['a path with dot segments', ['path: /v2', 'path: /v2/../x'], /^13 .*path: expected a path without dot segments/],
    ['a version of the wrong shape', ['v4.20190315', '"4"'], /^7 .*version: expected vX\.yyyymmdd/],
    [
      'a header that may never pass',
      ['version: v4.20190315', 'version: v4.20190315\n      passHeaders: [Cookie]'],
      /^8 .*passHeaders\[0\]: this header is framing/,
    ],
    [
      'an access key that would break the header',
      ['AKIAVISITOR', '"AKIA:X"'],
      /^9 .*accessKey: expected an access key/,
    ],
    ['a site folder that is missing', ['routes:', 'site: ./dist\n    routes:'], /^12 .*site: no such folder/],
    [
      'a users file that is missing',
      ['visitor: { role: visitor }', 'password: { users: users.yaml }'],
      /^11 .*users: users file .*no such file$/,
    ],
    [
      'idle longer than absolute',
      ['{ role: visitor }', '{ role: visitor, idle: 3h, absolute: 2h }'],
      /^11 .*idle: idle is longer than absolute/,
    ],
    [
      'a store that is none',
      ['tenants:', 'sessions: { store: mongodb://x }\ntenants:'],
      /^2 sessions\.store: expected memory, redis/,
    ],
    [
      'a near cache of one session',
      ['tenants:', 'sessions: { nearCache: { entries: 1 } }\ntenants:'],
      /^2 sessions\.nearCache\.entries: expected 0 \(off\) or at least 2/,
    ],
    [
      'a near cache whose sessions never age',
      ['tenants:', 'sessions: { nearCache: { maxAge: 0s } }\ntenants:'],
      /^2 sessions\.nearCache\.maxAge: expected a duration longer than zero/,
    ],
    [
      'a seal key of the wrong size',
      ['tenants:', 'sessions: { sealKeys: [c2hvcnQ=] }\ntenants:'],
      /^2 sessions\.sealKeys\[0\]: expected the base64 of 32 random bytes/,
    ],
  ] as const)('%s', (_name, [from, to], expected) => {
    const text = MINIMAL.replace(from, to);
    expect(text).not.toBe(MINIMAL);
    expect(places(text)).toEqual([expect.stringMatching(expected)]);
  });

  it('name the line of a user in the users file', () => {
    const text = MINIMAL.replace('visitor: { role: visitor }', 'password: { users: users.yaml }');
    const users =
      'ada:\n  password: $argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA\n  roles: [boss]\nbob:\n  password: letmein\n  roles: [visitor]\n';
    const [fault] = faultsOf(text, ENV, { 'users.yaml': users.split('bob')[0] ?? '' });
    expect(fault).toMatchObject({ line: 3, path: 'ada.roles[0]', file: expect.stringMatching(/users\.yaml$/) });
    expect(places(text, ENV, { 'users.yaml': users })).toEqual([
      expect.stringMatching(/^5 bob\.password: expected an argon2id hash/),
    ]);
  });

  it('two tenants cannot answer for one Host, whatever its spelling', () => {
    const second = MINIMAL.replace('\ntenants:\n  acme:', '  globex:').replace(
      'console.acme.example',
      'CONSOLE.acme.example:443',
    );
    expect(places(MINIMAL + second).join()).toMatch(/tenants\.globex\.origins\[0\]: /);
  });

  it('a file that is no YAML, a duplicate key and a missing file each get one clear line', () => {
    expect(places('tenants: [')[0]).toMatch(/^1 : /);
    expect(places('drain: 1s\ndrain: 2s\n').join()).toMatch(/^2 : .*unique/i);
    expect(places('drain: 1s\n---\ndrain: 2s\n')).toEqual([
      '2 : a second document begins here, where one is all there may be',
    ]);
    expect(() => load('', {}, {})).toThrow(/tenants/);
  });

  it('never repeat a secret', () => {
    const text = `${MINIMAL.replace('{ env: VISITOR_SECRET }', 'the-inline-secret')}nonsense: true\n`;
    expect(JSON.stringify(faultsOf(text))).not.toContain('the-inline-secret');
  });
});

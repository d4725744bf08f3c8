import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { didYouMean, editDistance } from '../../src/config/allowed-keys.ts';
import { readConfig } from '../../src/config/load.ts';
import { isLoopback } from '../../src/process/loopback.ts';
import { ROOT } from '../kit/cli.ts';
import { faultsOf, folderOf, load, MINIMAL } from './fixture.ts';

const ENV = { VISITOR_SECRET: 'the-visitor-secret' };

/** The one fault of the minimal configuration after a change. */
function faultAfter(from: string, to: string) {
  const text = MINIMAL.replace(from, to);
  expect(text).not.toBe(MINIMAL);
  const faults = faultsOf(text, ENV);
  expect(faults).toHaveLength(1);
  return faults[0];
}

describe('an unknown key', () => {
  it.each([
    ['at the top', 'tenants:', 'drian: 1s\ntenants:', 'drian', 'drain'],
    ['in a tenant', 'routes:', 'siteheaders: {}\n    routes:', 'tenants.acme.siteheaders', 'siteHeaders'],
    ['that a required one is spelled as', 'origins:', 'orgins:', 'tenants.acme.orgins', 'origins'],
    [
      'in a list',
      'roles: [visitor] }',
      'roles: [visitor], owner_access_key: [] }',
      'tenants.acme.routes[0].owner_access_key',
      'ownerAccessKey',
    ],
    [
      'in one alternative of several',
      'version: v4.20190315',
      'version: v4.20190315\n      dialect: { preset: service, shceme: X }',
      'tenants.acme.upstream.dialect.shceme',
      'scheme',
    ],
    [
      'below a name of the operator’s',
      'accessKey:',
      'acesskey:',
      'tenants.acme.keypairs.visitor.acesskey',
      'accessKey',
    ],
  ])('%s', (_where, from, to, path, meant) => {
    const fault = faultAfter(from, to);
    expect(fault).toMatchObject({ path, message: 'unknown key', hint: `did you mean "${meant}"?` });
    expect(fault?.expected).toMatch(new RegExp(`\\b${meant}\\b`));
  });

  it('that resembles nothing has no guess, but the keys there are', () => {
    const fault = faultAfter('tenants:', 'zebra: 1\ntenants:');
    expect(fault).not.toHaveProperty('hint');
    expect(fault?.expected).toMatch(/^one of the keys listen, (?:[a-z]+, )+tenants, service$/);
  });

  it('hides no other fault of the same section', () => {
    const text = MINIMAL.replace('origins:', 'orgins:')
      .replace('VISITOR_SECRET', 'NOT_SET')
      .replace('roles: [visitor]', 'roles: [vistor]');
    expect(faultsOf(text).map(({ path, hint }) => [path, hint])).toEqual([
      ['tenants.acme.orgins', 'did you mean "origins"?'],
      ['tenants.acme.keypairs.visitor.secretKey', 'set NOT_SET for the process, or use { file: path }'],
      ['tenants.acme.routes[0].roles[0]', 'did you mean "visitor"?'],
    ]);
  });
});

describe('a wrong value', () => {
  it.each([
    [
      'a number out of range',
      'tenants:',
      'listen: { port: 99999 }\ntenants:',
      { path: 'listen.port', found: '99999', expected: 'a number of at most 65535' },
    ],
    ['a fraction', 'tenants:', 'listen: { port: 1.5 }\ntenants:', { found: '1.5', expected: 'a whole number' }],
    ['a wrong type', 'tenants:', 'listen: { port: "80" }\ntenants:', { found: '"80"', expected: 'a number' }],
    ['nothing', 'tenants:', 'listen: { port: }\ntenants:', { found: 'nothing', expected: 'a number' }],
    [
      'a choice',
      'tenants:',
      'log: { level: inof }\ntenants:',
      { found: '"inof"', expected: 'one of trace, debug, info, warn, error, silent', hint: 'did you mean "info"?' },
    ],
    [
      'an empty list',
      '[https://console.acme.example]',
      '[]',
      { found: 'an empty list', expected: 'a list of at least one entry' },
    ],
    [
      'an origin',
      'https://console.acme.example',
      'https://console.acme.example/app',
      { found: '"https://console.acme.example/app"', expected: expect.stringMatching(/^an origin such as/) },
    ],
    [
      'a proxy',
      'tenants:',
      'listen: { trustProxies: [ten] }\ntenants:',
      { found: '"ten"', expected: 'an address or a block such as 10.0.0.0/8' },
    ],
    [
      'a key that is missing',
      '      version: v4.20190315\n',
      '',
      { path: 'tenants.acme.upstream.version', message: 'missing', expected: 'a text' },
    ],
    [
      'a list where a section belongs',
      '{ visitor: { role: visitor } }',
      '[]',
      { found: 'an empty list', expected: 'a section' },
    ],
  ])('%s', (_name, from, to, expected) => {
    const text = MINIMAL.replace(
      'login:\n      visitor: { role: visitor }',
      'login: { visitor: { role: visitor } }',
    ).replace(from, to);
    expect(faultsOf(text, ENV)).toEqual([expect.objectContaining(expected)]);
  });
});

it.each([
  ['a template that was not filled in', 'tenants:\n  {{ .Values.tenants }}\n', 2, /template/],
  ['a value that needs quotes', 'tenants:\n  acme:\n    site: a: b\n', 3, /quotes/],
  ['a tab', 'tenants:\n  acme:\n\tsite: x\n', 3, /spaces/],
  ['a key that is there twice', 'drain: 1s\ndrain: 2s\n', 2, /twice/],
])('what YAML refuses has its line and a hint, once: %s', (_name, text, line, hint) => {
  const faults = faultsOf(text);
  expect(faults).toEqual([expect.objectContaining({ line, hint: expect.stringMatching(hint) })]);
});

describe('what may be a secret is never repeated', () => {
  it.each([
    ['a secretKey of the wrong type', '{ env: VISITOR_SECRET }', '[hunter2]'],
    ['a secret where its reference belongs', '{ env: VISITOR_SECRET }', '{ hunter2 }'],
    ['a secret under a misspelled key', '{ env: VISITOR_SECRET }', '{ flie: hunter2 }'],
    ['a keypair that is a text', '{ accessKey: AKIAVISITOR, secretKey: { env: VISITOR_SECRET } }', 'hunter2'],
    ['a secretKey that is misspelled', 'secretKey: { env: VISITOR_SECRET }', 'secretkye: hunter2'],
    ['a token', 'tenants:', 'operator: { token: [hunter2] }\ntenants:'],
    ['an operator that is a text', 'tenants:', 'operator: hunter2\ntenants:'],
    ['a seal key', 'tenants:', 'sessions: { sealKeys: [hunter2] }\ntenants:'],
    ['a store that is none', 'tenants:', 'sessions: { store: "mongodb://me:hunter2@db" }\ntenants:'],
    [
      'a password that is no hash',
      'visitor: { role: visitor }',
      'password: { users: { ada: { password: hunter2, roles: [visitor] } } }',
    ],
    ['a user that is a text', 'visitor: { role: visitor }', 'password: { users: { ada: hunter2 } }'],
    ['an alias without its anchor', '{ env: VISITOR_SECRET }', '*hunter2'],
    ['a value YAML cannot read', '{ env: VISITOR_SECRET }', '"hunter2\\q"'],
    ['text behind the end of a value', '{ env: VISITOR_SECRET }', '"a" hunter2'],
  ])('%s', (_name, from, to) => {
    const text = MINIMAL.replace(from, to);
    expect(text).toContain('hunter2');
    const faults = faultsOf(text, ENV);
    expect(faults[0]?.line).toBeGreaterThan(1);
    expect(JSON.stringify(faults)).not.toContain('hunter2');
  });
});

describe('warnings', () => {
  const warningsOf = (text: string, env: Record<string, string> = ENV) =>
    load(text, env).warnings.map(({ path, message, hint }) => {
      expect(hint).toBeTypeOf('string');
      return `${path}: ${message}`;
    });
  const ADMIN = `${MINIMAL.replace('keypairs:', 'keypairs:\n      admin: { accessKey: AKIAADMIN, secretKey: { env: VISITOR_SECRET } }')}      - { path: /v2/admin, roles: [admin, visitor], ownerAccessKey: [admin] }\n`;
  const SERVICE = 'service: { keypairs: [{ accessKey: AKIAVISITOR, secretKey: x }] }\n';
  const GRAPHQL = ADMIN.replace(
    'ownerAccessKey: [admin]',
    'graphql: { visitor: [groups], admin: [groups, create_group] }',
  );

  it.each([
    [
      'an inline secret',
      MINIMAL.replace('{ env: VISITOR_SECRET }', 'x'),
      /^tenants\.acme\.keypairs\.visitor\.secretKey: /,
    ],
    [
      'an inline secret of a tenant that calls a real Service beside the reference Service',
      `${MINIMAL.replace('{ env: VISITOR_SECRET }', 'x')}${SERVICE}`,
      /^tenants\.acme\.keypairs\.visitor\.secretKey: /,
    ],
    [
      'an inline operator token beside the reference Service',
      `${MINIMAL}${SERVICE}operator: { token: an-operator-token-of-some-length }\n`,
      /^operator\.token: /,
    ],
    [
      'an inline password of the session store',
      `${MINIMAL}sessions: { store: "redis://user:password@127.0.0.1:6379/0" }\n`,
      /^sessions\.store: (?!.*password)/,
    ],
    [
      'the operators’ listener on a public address',
      `${MINIMAL}operator: { host: 0.0.0.0, token: { env: VISITOR_SECRET } }\n`,
      /^operator\.host: .*0\.0\.0\.0/,
    ],
    [
      'an http origin off loopback',
      MINIMAL.replace('https://console', 'http://console'),
      /^tenants\.acme\.origins\[0\]: .*plain http/,
    ],
    [
      'an http endpoint off loopback',
      MINIMAL.replace('https://api', 'http://api'),
      /^tenants\.acme\.upstream\.endpoints\[0\]: .*plain http/,
    ],
    [
      'owner_access_key for visitors',
      ADMIN.replace('ownerAccessKey: [admin]', 'ownerAccessKey: [admin, visitor]'),
      /^tenants\.acme\.routes\[1\]\.ownerAccessKey\[1\]: /,
    ],
    [
      'a group mutation for visitors',
      GRAPHQL.replace('visitor: [groups]', 'visitor: [groups, delete_group]'),
      /^tenants\.acme\.routes\[1\]\.graphql\.visitor\[1\]: .*delete_group/,
    ],
    [
      'visitors on the keypair of a role with owner_access_key',
      ADMIN.replace('AKIAADMIN', 'AKIAVISITOR'),
      /^tenants\.acme\.login\.visitor\.role: .*role "admin"/,
    ],
    [
      'visitors on the keypair of a role with group mutations',
      GRAPHQL.replace('AKIAADMIN', 'AKIAVISITOR'),
      /^tenants\.acme\.login\.visitor\.role: .*role "admin"/,
    ],
    [
      'visitors on an admin keypair of the reference Service',
      `${MINIMAL}service: { keypairs: [{ accessKey: AKIAVISITOR, secretKey: x, admin: true }] }\n`,
      /^tenants\.acme\.login\.visitor\.role: .*reference Service/,
    ],
  ])('of %s', (_name, text, expected) => {
    expect(warningsOf(text)).toEqual([expect.stringMatching(expected)]);
  });

  it.each([
    ['a sound configuration', MINIMAL],
    ['an admin role with a keypair of its own', ADMIN],
    ['group mutations of an admin role', GRAPHQL],
    [
      'http on loopback',
      MINIMAL.replace('https://console.acme.example', 'http://localhost:8080, "http://[::1]:8080"').replace(
        'https://api.service.example',
        'http://127.0.0.1:8081',
      ),
    ],
    ['an operators’ listener on loopback', `${MINIMAL}operator: {}\n`],
    ['a session store without a password', `${MINIMAL}sessions: { store: "redis://127.0.0.1:6379/0" }\n`],
    [
      'inline secrets of the reference Service and of the tenant that calls it',
      `${MINIMAL.replace('{ env: VISITOR_SECRET }', 'x').replace('https://api.service.example', 'http://localhost:8081')}${SERVICE}`,
    ],
    [
      'two roles that share a keypair without privilege',
      MINIMAL.replace(
        'keypairs:',
        'keypairs:\n      user: { accessKey: AKIAVISITOR, secretKey: { env: VISITOR_SECRET } }',
      ),
    ],
    [
      'roles with names that every object has',
      MINIMAL.replaceAll('visitor', 'constructor').replace('constructor: { role', 'visitor: { role'),
    ],
  ])('of nothing: %s', (_name, text) => {
    expect(warningsOf(text)).toEqual([]);
  });

  it('an operators’ listener that anyone may use is a fault', () => {
    expect(faultsOf(`${MINIMAL}operator: { host: "::" }\n`, ENV)).toEqual([
      expect.objectContaining({ path: 'operator.host', message: expect.stringContaining('no token') }),
    ]);
  });
});

it.each([
  ['127.0.0.1', true],
  ['127.9.9.9', true],
  ['::1', true],
  ['[::1]', true],
  ['localhost', true],
  ['app.localhost', true],
  ['::ffff:127.0.0.1', true],
  ['0.0.0.0', false],
  ['::', false],
  ['10.0.0.1', false],
  ['127.0.0.1.example', false],
  ['localhost.example', false],
  ['notlocalhost', false],
])('isLoopback(%s) is %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});

it('the distance of two words is what it takes to turn one into the other', () => {
  expect([
    editDistance('', 'abc'),
    editDistance('abc', 'abc'),
    editDistance('abc', 'acb'),
    editDistance('kitten', 'sitting'),
  ]).toEqual([3, 0, 1, 3]);
  expect(didYouMean('port', [])).toBeUndefined();
  expect(didYouMean('OWNER-ACCESS-KEY', ['ownerAccessKey', 'origins'])).toBe('ownerAccessKey');
});

describe('whatever stands in the file', () => {
  const EXAMPLE = readFileSync(join(ROOT, 'config/example.yaml'), 'utf8').split('\n');
  /** What an editor, a template or a slip of the hand leaves behind. */
  const debris = fc.constantFrom(
    ...[
      '',
      '{}',
      '[]',
      'null',
      '- x',
      '__proto__: { a: 1 }',
      'constructor: 1',
      '? [a, b]\n: c',
      '<<: *x',
      '&x {}',
      '*x',
    ],
    ...[
      '!!set {a}',
      '\t- tab',
      '"',
      '{{ .Values.x }}',
      'a: b: c',
      '1: 2',
      '0x7fffffffffffffff',
      'tenants:',
      '---',
      '%YAML 1.9',
    ],
  );
  const edit = fc.record({
    line: fc.nat(EXAMPLE.length - 1),
    remove: fc.nat(3),
    insert: debris,
    indent: fc.constantFrom(0, 2, 4, 6, 8),
  });

  it('ends in faults with their places, never in an exception', () => {
    const file = join(folderOf({}), 'countersign.yaml');
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
        const lines = [...EXAMPLE];
        for (const { line, remove, insert, indent } of edits) lines.splice(line, remove, ' '.repeat(indent) + insert);
        writeFileSync(file, lines.join('\n'));
        const { faults, config } = readConfig(file, {});
        expect(config).toBeUndefined();
        expect(faults.length).toBeGreaterThan(0);
        for (const { line, column, message } of faults) {
          expect([line > 0, column > 0, message.length > 0]).toEqual([true, true, true]);
        }
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    '',
    '# nothing',
    '- list',
    'text',
    '42',
    'null',
    '{}',
    '---\na: 1\n---\nb: 2',
    '__proto__: { tenants: {} }',
  ])('even if it is %j', (text) => {
    expect(faultsOf(text).length).toBeGreaterThan(0);
  });
});

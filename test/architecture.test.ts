import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Module, readModule } from './architecture/modules.ts';
import {
  everyFileIsUsed,
  everyPartHasALayer,
  filesAreShort,
  foldersHaveNames,
  importsPointDownward,
  packagesAreInstalled,
  packagesHaveTheirPlace,
  rulesImportNoIo,
  serviceStandsApart,
  thereIsNoCycle,
} from './architecture/rules.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(join(ROOT, folder), join(entry.parentPath, entry.name)).replaceAll(sep, '/'));
}

const modules = filesBelow('src')
  .filter((file) => file.endsWith('.ts'))
  .map((file) => readModule(file, readFileSync(join(ROOT, 'src', file), 'utf8')));

const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>;
};

const SIZES = { longest: 300, median: 120, map: 200 };

describe('the house', () => {
  it.each([
    { rule: everyPartHasALayer, says: 'gives every folder a layer' },
    { rule: importsPointDownward, says: 'imports downward only' },
    { rule: thereIsNoCycle, says: 'has no import cycle' },
    { rule: serviceStandsApart, says: 'lets the reference Service share the signature and the nouns only' },
    { rule: rulesImportNoIo, says: 'keeps input and output out of signing, policy, session rules and retry' },
    { rule: packagesHaveTheirPlace, says: 'lets one folder know each package' },
    { rule: packagesAreInstalled(Object.keys(dependencies)), says: 'imports production dependencies only' },
    { rule: everyFileIsUsed, says: 'has no file that nothing reaches' },
    { rule: filesAreShort(SIZES), says: 'has short files' },
  ])('$says', ({ rule }) => {
    expect(modules.length).toBeGreaterThan(50);
    expect(rule(modules)).toEqual([]);
  });

  it('has no folder named for nothing in particular', () => {
    const folders = ['src', 'test', 'bench', 'config', 'scripts'].flatMap((top) => filesBelow(top).map(dirname));
    expect(foldersHaveNames([...new Set(folders)])).toEqual([]);
  });
});

/** A house of one-line files: file → its text. */
function house(files: Record<string, string>): Module[] {
  return Object.entries(files).map(([file, text]) => readModule(file, text));
}

describe('the check itself', () => {
  it('sees every form of import', () => {
    const text = [
      "import fs from 'node:fs';",
      "import type { Tenant } from '../tenant.ts';",
      'import {',
      '  type Session,',
      '  isLive,',
      "} from './session.ts';",
      "import './side-effect.ts';",
      "export { a } from './a.ts';",
      "export * from './b.ts';",
      "export type { C } from './c.ts';",
      "const late = await import('./late.ts');",
      "// import('./commented.ts')",
      " * import nothing from './in-a-comment.ts'",
      "export const word = 'import';",
    ].join('\n');
    expect(readModule('session/x.ts', text).imports).toEqual([
      { target: 'node:fs', typeOnly: false },
      { target: 'tenant.ts', typeOnly: true },
      { target: 'session/session.ts', typeOnly: false },
      { target: 'session/side-effect.ts', typeOnly: false },
      { target: 'session/a.ts', typeOnly: false },
      { target: 'session/b.ts', typeOnly: false },
      { target: 'session/c.ts', typeOnly: true },
      { target: 'session/late.ts', typeOnly: false },
    ]);
    expect(() => readModule('x.ts', 'await import(name);')).toThrow('computed name');
  });

  it.each([
    ['session/a.ts', "import { b } from '../edge/b.ts';"],
    ['signing/a.ts', "import { b } from '../session/b.ts';"],
    ['tenant.ts', "import { b } from './signing/dialect.ts';"],
    ['policy/a.ts', "import { isLive } from '../session/session.ts';"],
    ['observe/a.ts', "import type { B } from '../edge/b.ts';"],
    ['gateway.ts', "import { b } from './config/load.ts';"],
  ])('refuses an import upward or sideways: %s, %s', (file, text) => {
    expect(importsPointDownward(house({ [file]: text }))).toHaveLength(1);
  });

  it.each([
    ['edge/a.ts', "import { b } from '../session/b.ts';"],
    ['session/a.ts', "import { b } from './b.ts';"],
    ['tenant.ts', "import type { Dialect } from './signing/dialect.ts';"],
    ['exchange.ts', "import type { Session } from './session/session.ts';"],
    ['exchange.ts', "import { b } from './tenant.ts';"],
    ['main.ts', "import { b } from './cli/b.ts';"],
  ])('allows an import downward: %s, %s', (file, text) => {
    expect(importsPointDownward(house({ [file]: text }))).toEqual([]);
  });

  it('refuses a folder it has not heard of', () => {
    expect(everyPartHasALayer(house({ 'plugins/a.ts': '' }))).toHaveLength(1);
  });

  it('refuses a cycle, but not one of types', () => {
    const b = "import { c } from './c.ts';";
    const round = {
      'edge/a.ts': "import { b } from './b.ts';",
      'edge/b.ts': b,
      'edge/c.ts': "import { a } from './a.ts';",
    };
    expect(thereIsNoCycle(house(round))).toEqual(['edge/a.ts → edge/b.ts → edge/c.ts → edge/a.ts']);
    expect(thereIsNoCycle(house({ ...round, 'edge/c.ts': "import type { A } from './a.ts';" }))).toEqual([]);
  });

  it('refuses a reference Service that leans on the gateway', () => {
    expect(serviceStandsApart(house({ 'service/a.ts': "import { b } from '../edge/b.ts';" }))).toHaveLength(1);
    expect(serviceStandsApart(house({ 'service/a/b.ts': "import { b } from '../../problem.ts';" }))).toEqual([]);
  });

  it.each([
    ['session/cookie.ts', "import { readFile } from 'node:fs/promises';"],
    ['signing/sign.ts', "import type { Server } from 'node:http';"],
    ['policy/decide.ts', "import { createClient } from 'ioredis';"],
    ['forward/retry.ts', "import { connect } from 'node:net';"],
  ])('refuses input and output in a rule: %s, %s', (file, text) => {
    expect(rulesImportNoIo(house({ [file]: text }))).toHaveLength(1);
    expect(rulesImportNoIo(house({ 'session/redis-store.ts': text, 'forward/transport.ts': text }))).toEqual([]);
  });

  it.each([
    ['session/sessions.ts', "import { Redis } from 'ioredis';"],
    ['session/open-store.ts', "import { Redis } from 'ioredis';"],
    ['edge/app.ts', "import { createProxyServer } from 'http-proxy-3';"],
    ['login/password.ts', "import { Hono } from 'hono/tiny';"],
    ['forward/reply.ts', "import { serveStatic } from '@hono/node-server/serve-static';"],
    ['gateway.ts', "import pino from 'pino';"],
  ])('refuses a package out of its place: %s, %s', (file, text) => {
    expect(packagesHaveTheirPlace(house({ [file]: text }))).toHaveLength(1);
  });

  it('refuses a package that is not installed in production', () => {
    const modules = house({ 'edge/a.ts': "import { WebSocket } from 'ws';\nimport { Hono } from 'hono/tiny';" });
    expect(packagesAreInstalled(['hono'])(modules)).toEqual(['edge/a.ts imports ws']);
  });

  it('refuses a file that nothing reaches', () => {
    const modules = house({ 'main.ts': "import './cli/a.ts';", 'cli/a.ts': '', 'cli/dead.ts': '' });
    expect(everyFileIsUsed(modules)).toEqual(['cli/dead.ts is not reached from main.ts']);
  });

  it('refuses long files, and a map that outgrows one view', () => {
    const lines = (count: number) => 'x\n'.repeat(count);
    expect(filesAreShort(SIZES)(house({ 'a.ts': lines(301), 'b.ts': '', 'c.ts': '' }))).toHaveLength(1);
    expect(filesAreShort(SIZES)(house({ 'gateway.ts': lines(201), 'b.ts': '', 'c.ts': '' }))).toHaveLength(1);
    expect(filesAreShort(SIZES)(house({ 'a.ts': lines(121), 'b.ts': lines(121), 'c.ts': '' }))).toHaveLength(1);
    expect(
      filesAreShort(SIZES)(house({ 'a.ts': lines(300), 'gateway.ts': lines(200), 'b.ts': '', 'c.ts': '', 'd.ts': '' })),
    ).toEqual([]);
  });

  it('refuses a folder named for nothing in particular', () => {
    expect(foldersHaveNames(['session', 'edge/utils', 'lib', 'library'])).toEqual(['edge/utils', 'lib']);
  });
});

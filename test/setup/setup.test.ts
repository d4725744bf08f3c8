import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../../scripts/setup.mjs', import.meta.url));

let checkout: string;

/** A checkout with one package, which npm can install without a network. */
beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'countersign-setup-'));
  mkdirSync(join(checkout, 'scripts'));
  mkdirSync(join(checkout, 'dependency'));
  mkdirSync(join(checkout, 'bin'));
  cpSync(SCRIPT, join(checkout, 'scripts/setup.mjs'));
  write('dependency/package.json', { name: 'dependency', version: '1.0.0' });
  writeManifest('1.0.0');
  symlinkSync(process.execPath, join(checkout, 'bin/node'));
});

afterEach(() => rmSync(checkout, { recursive: true, force: true }));

function write(file: string, content: unknown): void {
  writeFileSync(join(checkout, file), JSON.stringify(content));
}

function writeManifest(version: string): void {
  const root = {
    name: 'checkout',
    version,
    engines: { node: '>=24.7' },
    dependencies: { dependency: 'file:dependency' },
  };
  write('package.json', root);
  write('package-lock.json', {
    name: 'checkout',
    version,
    lockfileVersion: 3,
    requires: true,
    packages: {
      '': root,
      dependency: { version },
      'node_modules/dependency': { resolved: 'dependency', link: true },
    },
  });
  write('dependency/package.json', { name: 'dependency', version });
}

/** An executable of this name, a shell script, in the folder that `path()` begins with. */
function addProgram(name: string, script = ''): void {
  const file = join(checkout, 'bin', name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
}

/** The checkout's own programs, and after them the machine's, npm among them. */
function path(): string {
  return [join(checkout, 'bin'), process.env['PATH']].join(delimiter);
}

function setup(args: readonly string[] = [], env: Record<string, string> = {}): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, [join(checkout, 'scripts/setup.mjs'), ...args], {
    encoding: 'utf8',
    input: 'what the command that follows will read',
    env: { HOME: checkout, PATH: path(), ...env },
  });
}

describe('scripts/setup.mjs', () => {
  it('installs the packages when they are missing, and leaves stdout to the command that follows', () => {
    const first = setup();
    expect(first).toMatchObject({ status: 0, stdout: '' });
    expect(first.stderr).toContain('npm ci');
    expect(existsSync(join(checkout, 'node_modules/dependency/package.json'))).toBe(true);
  });

  it('does and says nothing when nothing is missing', () => {
    setup();
    writeFileSync(join(checkout, 'node_modules/witness'), 'npm ci would remove this');
    expect(setup()).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(existsSync(join(checkout, 'node_modules/witness'))).toBe(true);
  });

  it('installs again when package-lock.json has changed', () => {
    setup();
    writeManifest('2.0.0');
    expect(setup().stderr).toContain('npm ci');
    expect(setup().stderr).toBe('');
  });

  it('does not take an installation that broke off for a whole one', () => {
    setup();
    rmSync(join(checkout, 'node_modules/.package-lock.json'));
    expect(setup().stderr).toContain('npm ci');
  });

  it('installs once when two people start at once', async () => {
    const runs = [1, 2].map(() =>
      spawn(process.execPath, [join(checkout, 'scripts/setup.mjs')], { env: { HOME: checkout, PATH: path() } }),
    );
    const said = await Promise.all(
      runs.map(async (run) => {
        let text = '';
        run.stderr.on('data', (chunk) => {
          text += chunk;
        });
        expect(await once(run, 'close')).toEqual([0, null]);
        return text;
      }),
    );
    expect(said.filter((text) => text.includes('npm ci'))).toHaveLength(1);
  });

  it('says what to do when there is no npm', () => {
    const { status, stdout, stderr } = setup([], { PATH: join(checkout, 'bin') });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain('npm is not on the PATH');
  });

  it('says what to do when the Node that runs TypeScript was not placed', () => {
    setup();
    mkdirSync(join(checkout, 'node_modules/.bin'), { recursive: true });
    const placed = join(checkout, 'node_modules/.bin/node');
    writeFileSync(placed, '#!/bin/sh\necho v20.19.0\n');
    chmodSync(placed, 0o755);
    const { status, stderr } = setup();
    expect(status).toBe(1);
    expect(stderr).toContain('Node >=24.7 is missing');
    expect(stderr).toContain('npm rebuild node --ignore-scripts=false');
  });
});

describe('scripts/setup.mjs --test', () => {
  beforeEach(() => {
    setup();
    for (const name of ['curl', 'openssl']) addProgram(name);
  });

  it('is content with the programs it finds on the PATH', () => {
    addProgram('redis-server');
    addProgram('google-chrome');
    expect(setup(['--test'], { PATH: join(checkout, 'bin') })).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });

  it('is content with the programs that variables name', () => {
    addProgram('my-redis');
    addProgram('my-chromium');
    const env = {
      PATH: join(checkout, 'bin'),
      REDIS_SERVER: join(checkout, 'bin/my-redis'),
      CHROMIUM: join(checkout, 'bin/my-chromium'),
    };
    expect(setup(['--test'], env)).toMatchObject({ status: 0, stderr: '' });
  });

  it('names every program that it cannot install, and exits 1', () => {
    const { status, stdout, stderr } = setup(['--test'], { PATH: join(checkout, 'bin') });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain('the tests need redis-server');
    expect(stderr).toContain('set REDIS_SERVER');
    expect(stderr).toContain('the tests need Chromium');
    expect(stderr).toContain('set CHROMIUM');
  });

  it('asks for the programs that the documentation’s commands use', () => {
    addProgram('redis-server');
    addProgram('google-chrome');
    for (const name of ['curl', 'openssl']) rmSync(join(checkout, 'bin', name));
    const { status, stderr } = setup(['--test'], { PATH: join(checkout, 'bin') });
    expect(status).toBe(1);
    expect(stderr).toContain('the tests need curl');
    expect(stderr).toContain('the tests need openssl');
    expect(stderr).not.toContain('undefined');
  });

  it('names the command to type when it may not install', () => {
    addProgram('google-chrome');
    addProgram('dnf', 'exit 1');
    addProgram('sudo', 'exit 1');
    const { status, stderr } = setup(['--test'], { PATH: join(checkout, 'bin') });
    expect(status).toBe(1);
    expect(stderr).toContain('sudo dnf install -y redis');
  });

  it('installs what is missing, and only that, without starting a service', () => {
    const redis = join(checkout, 'bin/redis-server');
    const log = join(checkout, 'apt-get.log');
    addProgram('google-chrome');
    addProgram('apt-get', `echo "$RUNLEVEL $*" >> ${log}; [ "$1" = install ] && /bin/ln -s /bin/sh ${redis}`);
    addProgram('sudo', 'shift; exec "$@"');
    addProgram('env', 'exec /usr/bin/env "$@"');
    const { status, stdout, stderr } = setup(['--test'], { PATH: join(checkout, 'bin') });
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
    expect(stderr).toContain('installing redis-server');
    expect(readFileSync(log, 'utf8')).toBe('1 update -qq\n1 install -y --no-install-recommends redis-server\n');
    expect(setup(['--test'], { PATH: join(checkout, 'bin') }).stderr).toBe('');
  });

  it('refuses a variable that names no program', () => {
    addProgram('google-chrome');
    const { status, stderr } = setup(['--test'], {
      PATH: join(checkout, 'bin'),
      REDIS_SERVER: '/nowhere/redis-server',
    });
    expect(status).toBe(1);
    expect(stderr).toContain('REDIS_SERVER is /nowhere/redis-server');
  });
});

import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { INSTALLED } from './installed.ts';
import { GO_FOLDER, GO_PROGRAMS } from './peers/go.ts';
import { MODULE_FOLDERS, MODULES } from './peers/nginx-lua.ts';
import { findFile, findProgram } from './programs.ts';

/**
 * Installs the peers that can live in this checkout, below .peers: npm packages, a Python environment, Go programs. What
 * belongs to the system it only names. A part that fails keeps no other from being tried.
 */
const BENCH = fileURLToPath(new URL('.', import.meta.url));

/** Debian's names of what is not there. */
const SYSTEM: readonly (readonly [name: string, isThere: boolean])[] = [
  ['nginx', findProgram('nginx') !== undefined],
  ['haproxy', findProgram('haproxy') !== undefined],
  ['wrk', findProgram('wrk') !== undefined],
  ['redis-server', findProgram('redis-server', 'REDIS_SERVER') !== undefined],
  ['libnginx-mod-http-lua', MODULES.every((name) => findFile(MODULE_FOLDERS, name) !== undefined)],
];

const failures: string[] = [];

function say(line: string): void {
  process.stderr.write(`bench:peers: ${line}\n`);
}

/** Runs commands until one fails; their output goes to stderr. */
function install(what: string, cwd: string, ...commands: (readonly string[])[]): void {
  say(`${what} …`);
  for (const [program = '', ...args] of commands) {
    if (spawnSync(program, args, { cwd, stdio: ['ignore', 2, 2] }).status === 0) continue;
    failures.push(`${what}: \`${[program, ...args].join(' ')}\` failed`);
    return;
  }
}

const npmFolder = join(INSTALLED, 'npm');
cpSync(join(BENCH, 'npm'), npmFolder, { recursive: true });
install('http-proxy and @fastify/http-proxy', npmFolder, ['npm', 'ci', '--no-audit', '--no-fund']);

const python = findProgram('python3');
if (python === undefined) failures.push('aiohttp: there is no python3');
else {
  const environment = join(INSTALLED, 'python');
  const pip = [join(environment, 'bin/python'), '-m', 'pip', 'install', '--quiet', '--requirement', 'requirements.txt'];
  install('aiohttp', join(BENCH, 'python'), [python, '-m', 'venv', environment], pip);
}

const [go, git] = [findProgram('go'), findProgram('git')];
for (const [name, { version, repository, package: from }] of Object.entries(GO_PROGRAMS)) {
  if (go === undefined || git === undefined) {
    failures.push(`${name}: there is no ${go === undefined ? 'go' : 'git'}`);
    continue;
  }
  // Of the two only one can be had by `go install`: the other's module is not named for where it is.
  const source = mkdtempSync(join(tmpdir(), `${name}-`));
  const clone = [
    git,
    '-c',
    'advice.detachedHead=false',
    'clone',
    '--quiet',
    '--depth',
    '1',
    '--branch',
    version,
    repository,
    source,
  ];
  install(`${name} ${version}`, BENCH, clone, [go, '-C', source, 'build', '-o', `${GO_FOLDER}/`, from]);
  rmSync(source, { recursive: true });
}

for (const failure of failures) say(`not installed: ${failure}`);
const absent = SYSTEM.filter(([, isThere]) => !isThere).map(([name]) => name);
if (absent.length > 0) say(`of the system’s packages, missing: sudo apt-get install ${absent.join(' ')}`);
process.exitCode = failures.length === 0 ? 0 : 1;

/**
 * Makes the checkout runnable, and says nothing when it is. The npm scripts run it before anything else, so it may use
 * no package, has to run on the Node a newcomer has, and must leave stdout and stdin to the command that follows.
 *
 *   node scripts/setup.mjs           the packages of package-lock.json and a Node that runs TypeScript
 *   node scripts/setup.mjs --test    also redis-server, Chromium and what else the tests run for real
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const ownBin = join(root, 'node_modules', '.bin');
/** The packages' own commands are left out: npm must not run on the Node that it is about to replace. */
const searchPath = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '' && folder !== ownBin);

const PROGRAMS = [
  {
    name: 'redis-server',
    variable: 'REDIS_SERVER',
    commands: ['redis-server'],
    packages: {
      'apt-get': 'redis-server',
      dnf: 'redis',
      yum: 'redis',
      apk: 'redis',
      pacman: 'redis',
      zypper: 'redis',
      brew: 'redis',
    },
  },
  {
    name: 'Chromium',
    variable: 'CHROMIUM',
    commands: ['chromium', 'chromium-browser', 'google-chrome'],
    packages: {
      'apt-get': 'chromium',
      dnf: 'chromium',
      yum: 'chromium',
      apk: 'chromium',
      pacman: 'chromium',
      zypper: 'chromium',
    },
  },
  // The documentation's own commands are run as they stand, and these two are in them.
  ...['curl', 'openssl'].map((name) => ({
    name,
    commands: [name],
    packages: { 'apt-get': name, dnf: name, yum: name, apk: name, pacman: name, zypper: name, brew: name },
  })),
];

/** Arguments in front of the package's name. `dnf` before `yum`: where both exist the latter is an alias. */
const PACKAGE_MANAGERS = {
  'apt-get': ['install', '-y', '--no-install-recommends'],
  dnf: ['install', '-y'],
  yum: ['install', '-y'],
  apk: ['add', '--no-cache'],
  pacman: ['-Sy', '--noconfirm', '--needed'],
  zypper: ['--non-interactive', 'install', '--no-recommends'],
  brew: ['install'],
};

/** A missing part that only the reader can put right: the message says how. */
class SetupFailure extends Error {}

try {
  if (!packagesInstalled()) alone(() => packagesInstalled() || installPackages());
  if (!nodeRuns()) alone(() => nodeRuns() || repairNode());
  if (process.argv.includes('--test')) requirePrograms();
} catch (error) {
  if (!(error instanceof SetupFailure)) throw error;
  say(error.message);
  process.exitCode = 1;
}

/**
 * npm writes the list of what it installed as its very last step, so an installation that broke off half-way has none,
 * and one made by hand counts. Optional packages are other platforms' binaries.
 */
function packagesInstalled() {
  const wanted = readJson('package-lock.json')?.packages;
  if (!wanted)
    throw new SetupFailure(
      'package-lock.json is missing or damaged: restore it with `git checkout package-lock.json`.',
    );
  const present = readJson('node_modules/.package-lock.json')?.packages;
  return (
    present !== undefined &&
    Object.entries(wanted).every(
      ([folder, { version, integrity, optional }]) =>
        folder === '' || optional || (present[folder]?.version === version && present[folder]?.integrity === integrity),
    )
  );
}

function installPackages() {
  say('installing the packages of package-lock.json (npm ci) …');
  const { status } = npm('ci', '--include=dev', '--no-audit', '--no-fund');
  if (status !== 0)
    throw new SetupFailure('`npm ci` failed; its own message is above. Mend that and run the command again.');
}

/** Whether the `node` that an npm script gets is new enough: the one the `node` package placed, else the reader's own. */
function nodeRuns() {
  const placed = spawnSync(join(ownBin, 'node'), ['--version'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (placed.error?.code !== 'ENOENT') return newEnough(placed.stdout ?? '');
  const own = findCommand('node');
  return own !== undefined && newEnough(output(own, '--version'));
}

function newEnough(version) {
  const [, major, minor] = /^v(\d+)\.(\d+)\./.exec(version) ?? [];
  const [, wantedMajor, wantedMinor] = /^>=(\d+)\.(\d+)/.exec(readJson('package.json').engines.node);
  return Number(major) > Number(wantedMajor) || (major === wantedMajor && Number(minor) >= Number(wantedMinor));
}

/** The `node` package fetches its binary in an install script, which npm skips where scripts are switched off. */
function repairNode() {
  say('placing Node (npm rebuild node) …');
  npm('rebuild', 'node');
  if (nodeRuns()) return;
  throw new SetupFailure(
    `Node ${readJson('package.json').engines.node} is missing: the install script of the package \`node\` did not place it.\n` +
      '  Allow that one script:  npm rebuild node --ignore-scripts=false\n' +
      '  or put such a Node first on your PATH, and run the command again.',
  );
}

/**
 * npm's report goes to stderr; `--loglevel` undoes the silence of an `npm run -s` around us. The engines are met by the
 * Node among the packages, whichever Node npm itself runs on.
 */
function npm(...args) {
  const command = findCommand('npm');
  if (command === undefined)
    throw new SetupFailure('npm is not on the PATH: install Node.js with npm, https://nodejs.org/.');
  return spawnSync(command, [...args, '--loglevel=error', '--engine-strict=false'], {
    cwd: root,
    env: { ...process.env, PATH: searchPath.join(delimiter) },
    stdio: ['ignore', 2, 2],
  });
}

function requirePrograms() {
  const missing = PROGRAMS.filter((program) => !programFound(program));
  if (missing.length > 0) alone(() => missing.filter((program) => !programFound(program)).forEach(installProgram));
  const still = missing.filter((program) => !programFound(program));
  if (still.length > 0) throw new SetupFailure(still.map(howToInstall).join('\n'));
}

function programFound({ variable, commands }) {
  const named = variable && process.env[variable];
  if (!named) return commands.some((command) => findCommand(command) !== undefined);
  if (isExecutable(named)) return true;
  throw new SetupFailure(`${variable} is ${named}, which is no program that can be run: correct or unset it.`);
}

function installProgram({ name, packages }) {
  const found = packageManager(packages);
  if (found === undefined) return;
  const { manager, prefix } = found;
  say(`installing ${name} (${manager} ${PACKAGE_MANAGERS[manager][0]} ${packages[manager]}) …`);
  const run = (...args) => {
    const [command, ...rest] = [...prefix, manager, ...args];
    return spawnSync(command, rest, { stdio: ['ignore', 2, 2] });
  };
  if (manager === 'apt-get') run('update', '-qq');
  run(...PACKAGE_MANAGERS[manager], packages[manager]);
}

/** The first package manager that has the program and may be used without asking anyone for a password. */
function packageManager(packages) {
  const manager = Object.keys(PACKAGE_MANAGERS).find((each) => packages[each] && findCommand(each) !== undefined);
  if (manager === undefined) return undefined;
  const isRoot = process.getuid?.() === 0;
  if (manager === 'brew') return isRoot ? undefined : { manager, prefix: [] };
  // Debian's packages start the service they install, except in single-user mode; the tests start their own.
  const quietly = ['env', 'DEBIAN_FRONTEND=noninteractive', 'RUNLEVEL=1'];
  if (isRoot) return { manager, prefix: quietly };
  const sudo = findCommand('sudo');
  if (sudo === undefined || spawnSync(sudo, ['-n', 'true'], { stdio: 'ignore' }).status !== 0) return undefined;
  return { manager, prefix: [sudo, '-n', ...quietly] };
}

function howToInstall({ name, variable, commands, packages }) {
  const manager = Object.keys(PACKAGE_MANAGERS).find((each) => packages[each] && findCommand(each) !== undefined);
  const command = manager && [manager, ...PACKAGE_MANAGERS[manager], packages[manager]].join(' ');
  const install = command
    ? `: ${manager === 'brew' ? '' : 'sudo '}${command}`
    : ` (the package ${packages['apt-get']} on Debian)`;
  return (
    `the tests need ${name}, and none is on the PATH (${commands.join(', ')}).\n` +
    `  Install it${install}\n` +
    `  ${variable ? `or set ${variable} to the program's path, and` : 'and'} run the command again.`
  );
}

/** One set-up at a time: a second one waits for the first, then finds its work done. */
function alone(work) {
  const id = createHash('sha256').update(root).digest('hex').slice(0, 16);
  const lock = join(tmpdir(), `countersign-setup-${userInfo().uid}-${id}.lock`);
  for (let round = 0; !take(lock); round++) {
    if (round === 0) say(`waiting for another set-up of this checkout to end (its lock: ${lock}) …`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
  try {
    work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function take(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (!holderLives(lock)) rmSync(lock, { force: true });
    return false;
  }
}

function holderLives(lock) {
  try {
    process.kill(Number(readFileSync(lock, 'utf8')), 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function findCommand(name) {
  return searchPath.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function output(command, ...args) {
  return spawnSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).stdout ?? '';
}

function readJson(file) {
  try {
    return JSON.parse(readFileSync(join(root, file), 'utf8'));
  } catch {
    return undefined;
  }
}

function say(message) {
  process.stderr.write(`setup: ${message}\n`);
}

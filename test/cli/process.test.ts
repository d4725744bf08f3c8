import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CliProcess, MAIN, ROOT } from '../kit/cli.ts';

/** Node options that run `program` before the command line. */
const preload = (program: string) => ({ NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(program)}` });

describe('a reader that leaves before anything is written', () => {
  it.each([[['schema']], [['--help']], [['doctor', '--help']]])(
    '%j ends as if it had read everything',
    async (args) => {
      const child = spawn(process.execPath, [MAIN, ...args], { cwd: ROOT });
      child.stdout.destroy();
      const said = text(child.stderr);
      expect(await once(child, 'close')).toEqual([0, null]);
      expect(await said).toBe('');
    },
  );

  it('keeps the exit code: a finding is a finding', async () => {
    const child = spawn(process.execPath, [MAIN, 'doctor', 'config/demo.yaml', '--json'], { cwd: ROOT });
    child.stdout.destroy();
    const [code] = await once(child, 'close');
    expect(code).toBe(1);
  });
});

it('output that is lost on a full disk is one line and exit 1', () => {
  const { status, stderr } = spawnSync(process.execPath, [MAIN, 'schema'], {
    stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([1, 'countersign: standard output cannot be written (ENOSPC)\n']);
});

describe('a defect', () => {
  const BROKEN = preload(`const whole = JSON.stringify;
    JSON.stringify = (...given) => { if (given[2] === 2) throw new TypeError('boom\\nand more'); return whole(...given); };`);

  it('is one line that says so, and exit 70', async () => {
    const run = new CliProcess(['schema'], BROKEN);
    expect([await run.exited(), run.stderr]).toEqual([
      70,
      'countersign schema: this is a defect of Countersign: TypeError: boom; COUNTERSIGN_DEBUG=1 shows where\n',
    ]);
  });

  it('shows its stack with COUNTERSIGN_DEBUG=1', async () => {
    const run = new CliProcess(['schema'], { ...BROKEN, COUNTERSIGN_DEBUG: '1' });
    expect(await run.exited()).toBe(70);
    expect(run.stderr).toMatch(/^countersign schema: this is a defect of Countersign: TypeError: boom\n/);
    expect(run.stderr).toMatch(/\n {4}at .*schema\.ts:/);
  });

  it.each([
    ['thrown out of an event', 'throw new Error("boom")'],
    ['a promise nobody waits for', 'Promise.reject(new Error("boom"))'],
  ])('%s ends a server the same way', async (_, failing) => {
    const run = new CliProcess(['service', '--port=0'], preload(`process.on("SIGUSR2", () => { ${failing} })`));
    onTestFinished(async () => void (await run.kill()));
    await run.until(/listens on/);
    run.child.kill('SIGUSR2');
    expect(await run.exited()).toBe(70);
    expect(run.stderr).toMatch(
      /\ncountersign service: this is a defect of Countersign: Error: boom; COUNTERSIGN_DEBUG=1 shows where\n$/,
    );
  });
});

it('what the machine does not allow is the user’s matter: one line, exit 1, no stack', async () => {
  const run = new CliProcess(['service', '--port=0', '--host=192.0.2.1', '--access-key=A', '--secret-key-env=KEY'], {
    KEY: 'x',
  });
  expect(await run.exited()).toBe(1);
  expect(run.stderr).toMatch(/^countersign service: the Service cannot listen: .*EADDRNOTAVAIL.*\n$/);
});

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { cli } from '../kit/cli.ts';

const COMMANDS = ['serve', 'service', 'sign', 'verify', 'hash-password', 'schema'];

it('--help lists every command', async () => {
  const { code, stdout } = await cli(['--help']);
  expect(code).toBe(0);
  for (const name of COMMANDS) expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
});

it.each(COMMANDS)('%s --help shows usage and an example', async (name) => {
  const { code, stdout } = await cli([name, '--help']);
  expect(code).toBe(0);
  expect(stdout).toContain(`Usage: countersign ${name}`);
  expect(stdout).toMatch(/Examples?:\n/);
});

it('--version prints the version of the package', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect((await cli(['--version'])).stdout).toBe(`${version}\n`);
});

describe('a mistake gets one line and exit 2', () => {
  it.each([
    [['nonsense'], 'no command "nonsense"'],
    [['serve', '--nonsense'], '--nonsense'],
    [['serve', 'a', 'b'], 'one FILE at most'],
    [['serve', '/no/such/file.yaml'], '/no/such/file.yaml: no such file'],
    [['sign', 'file'], 'file'],
    [['verify', '--x'], '--x'],
  ])('%j', async (args, message) => {
    const { code, stdout, stderr } = await cli(args);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain(message);
    expect(stderr).not.toMatch(/\bat .*\.ts/);
  });
});

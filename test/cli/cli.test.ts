import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { cli } from '../kit/cli.ts';

const OVERVIEW = (await cli(['--help'])).stdout;
const COMMANDS = [...OVERVIEW.matchAll(/^ {2}([a-z-]+) {2,}\S/gm)].map(([, name]) => name ?? '');

it('--help lists the commands, and what holds for all of them', () => {
  expect(COMMANDS).toEqual(
    expect.arrayContaining(['serve', 'doctor', 'service', 'smoke', 'sign', 'verify', 'hash-password', 'schema']),
  );
  expect(OVERVIEW).toMatch(/^Exit codes: 0 .*, 1 .*, 2 .*, 70 /m);
  expect(OVERVIEW).toMatch(/^Environment: NO_COLOR/m);
});

describe.each(COMMANDS)('%s', (name) => {
  it('--help shows usage, options, examples and exit codes, in this order, on lines that fit', async () => {
    const { code, stdout, stderr } = await cli([name, '--help']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.startsWith(`Usage: countersign ${name}`)).toBe(true);
    const sections = [...stdout.matchAll(/^(Options|Examples|Exit codes):/gm)].map(([, section]) => section);
    expect(sections).toEqual(['Options', 'Examples', 'Exit codes']);
    expect(stdout).toMatch(/^ {2}--help +this text$/m);
    expect(stdout).toMatch(/\nExit codes: 0 .+\n$/);
    const examples = stdout.slice(stdout.indexOf('Examples:\n') + 10, stdout.indexOf('\nExit codes:'));
    for (const example of examples.replaceAll('\\\n', '').trimEnd().split('\n')) {
      expect(example).toContain(`countersign ${name}`);
    }
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(120);
  });

  it('-h and help say the same', async () => {
    const { stdout } = await cli([name, '--help']);
    expect(await cli([name, '-h'])).toEqual({ code: 0, stdout, stderr: '' });
    expect(await cli(['help', name])).toEqual({ code: 0, stdout, stderr: '' });
  });

  it('an option it does not have is one line and exit 2', async () => {
    const { code, stdout, stderr } = await cli([name, '--no-such-option']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(new RegExp(`^countersign ${name}: .+\\n$`));
  });
});

it('--version prints the version of the package', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect((await cli(['--version'])).stdout).toBe(`${version}\n`);
});

describe('a mistake gets one line and exit 2', () => {
  it.each([
    [['nonsense'], 'no command "nonsense"; see countersign --help'],
    [['docter'], 'no command "docter"; did you mean doctor?'],
    [['help', 'nonsense'], 'no command "nonsense"'],
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

import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { CliError, EXIT } from '../../src/cli/command.ts';
import { hashPasswordCommand } from '../../src/cli/hash-password.ts';
import { verifyPassword } from '../../src/login/password-hash.ts';

async function run(stdin: PassThrough, args: readonly string[] = []) {
  const [stdout, stderr] = [new PassThrough({ encoding: 'utf8' }), new PassThrough({ encoding: 'utf8' })];
  const code = await hashPasswordCommand.run(args, { stdin, stdout, stderr, env: {} });
  return { code, out: String(stdout.read() ?? ''), err: String(stderr.read() ?? '') };
}

function piped(text: string): PassThrough {
  const stdin = new PassThrough();
  stdin.end(text);
  return stdin;
}

/** A terminal at which somebody types `text`. */
function typed(text: string): PassThrough {
  return Object.assign(piped(text), { isTTY: true, setRawMode: () => undefined });
}

describe('countersign hash-password', () => {
  it.each([
    ['a line', 'correct horse\n'],
    ['a line of Windows', 'correct horse\r\n'],
    ['text without a line end', 'correct horse'],
    ['the first of several lines', 'correct horse\nsecond\n'],
  ])('prints the hash of %s', async (_what, text) => {
    const { code, out, err } = await run(piped(text));
    expect(code).toBe(EXIT.ok);
    expect(err).toBe('');
    expect(out.endsWith('\n')).toBe(true);
    expect(await verifyPassword(out.trimEnd(), 'correct horse')).toBe(true);
  });

  it('asks twice on a terminal and shows nothing of what is typed', async () => {
    const { out, err } = await run(typed('correct horse\rcorrect horse\r'));
    expect(err).toBe('Password: \nAgain: \n');
    expect(await verifyPassword(out.trimEnd(), 'correct horse')).toBe(true);
    expect(out + err).not.toContain('horse');
  });

  it.each([
    ['the two entries differ', typed('correct horse\rcorrect house\r'), /differ/],
    ['nothing is typed', typed(''), /No password/],
    ['the typing is broken off', typed('correct\u0003'), /No password/],
    ['the input is empty', piped(''), /empty/],
    ['the first line is empty', piped('\npassword\n'), /empty/],
    ['the password is too long', piped('x'.repeat(1025)), /1024 bytes/],
  ])('says so when %s', async (_when, stdin, message) => {
    const failure = run(stdin);
    await expect(failure).rejects.toThrow(message);
    await expect(failure).rejects.toBeInstanceOf(CliError);
  });

  it('takes no password as an argument', async () => {
    await expect(run(piped('x\n'), ['my-password'])).rejects.toBeInstanceOf(CliError);
  });
});

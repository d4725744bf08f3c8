import { createInterface } from 'node:readline';
import { hashPassword, MAX_PASSWORD_BYTES } from '../login/password-hash.ts';
import { CliError, type Command, EXIT, readAll, type Terminal } from './command.ts';

export const hashPasswordCommand: Command = {
  name: 'hash-password',
  summary: 'hash a password for the users of a tenant',
  help: `Usage: countersign hash-password

Reads a password and prints its argon2id hash, to be put into the configuration as a user's passwordHash.

On a terminal the password is asked for twice and not shown. Otherwise the first line of standard input is the
password; it never stands in the arguments, where every process on the machine could read it.

Options:
  --help   this text

Examples:
  countersign hash-password
  printf '%s\\n' "$PASSWORD" | countersign hash-password

Exit codes: 0 hashed, 2 no password, or two that differ.
`,
  async run(args, terminal) {
    if (args.length > 0)
      throw new CliError('hash-password takes no arguments; the password comes from standard input.');
    const password = isInteractive(terminal.stdin) ? await askTwice(terminal) : await readFirstLine(terminal.stdin);
    if (password === '') throw new CliError('The password is empty.');
    if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) {
      throw new CliError(`The password is longer than ${MAX_PASSWORD_BYTES} bytes.`);
    }
    terminal.stdout.write(`${await hashPassword(password)}\n`);
    return EXIT.ok;
  },
};

function isInteractive(stdin: NodeJS.ReadableStream): boolean {
  return 'isTTY' in stdin && stdin.isTTY === true;
}

async function readFirstLine(stdin: NodeJS.ReadableStream): Promise<string> {
  const [line = ''] = (await readAll(stdin)).split(/\r?\n/, 1);
  return line;
}

async function askTwice(terminal: Terminal): Promise<string> {
  // Without an output readline echoes nothing, yet puts the terminal into the mode in which it does not echo either.
  const lines = createInterface({ input: terminal.stdin, terminal: true });
  // In raw mode ^C is a character like any other.
  lines.once('SIGINT', () => lines.close());
  const next = lines[Symbol.asyncIterator]();
  async function ask(prompt: string): Promise<string> {
    terminal.stderr.write(prompt);
    const { value, done } = await next.next();
    terminal.stderr.write('\n');
    if (done) throw new CliError('No password was given.');
    return value;
  }
  try {
    const password = await ask('Password: ');
    if ((await ask('Again: ')) !== password) throw new CliError('The two passwords differ.');
    return password;
  } finally {
    lines.close();
  }
}

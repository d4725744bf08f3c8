import { readFileSync } from 'node:fs';
import { checkCommand } from './check.ts';
import { CliError, type Command, EXIT, type Terminal } from './command.ts';
import { hashPasswordCommand } from './hash-password.ts';
import { schemaCommand } from './schema.ts';
import { serveCommand } from './serve.ts';
import { serviceCommand } from './service.ts';
import { signCommand } from './sign.ts';
import { verifyCommand } from './verify.ts';

const COMMANDS: readonly Command[] = [
  serveCommand,
  checkCommand,
  serviceCommand,
  signCommand,
  verifyCommand,
  hashPasswordCommand,
  schemaCommand,
];

const OVERVIEW = `Usage: countersign COMMAND [ARGUMENTS]

A signing reverse proxy for public web front ends: cookies outside, signatures inside.

Commands:
${COMMANDS.map(({ name, summary }) => `  ${name.padEnd(15)}${summary}`).join('\n')}

countersign COMMAND --help   what a command does, with examples
countersign --version        the version
`;

/** Runs the command line `args` (without node and script) and resolves to the exit code. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = args;
  if (name === '--version' || name === '-v') {
    terminal.stdout.write(`${version()}\n`);
    return EXIT.ok;
  }
  if (name === '--help' || name === '-h' || name === 'help') {
    terminal.stdout.write(OVERVIEW);
    return EXIT.ok;
  }
  const command = COMMANDS.find((one) => one.name === name);
  if (command === undefined) {
    terminal.stderr.write(
      name === undefined ? OVERVIEW : `countersign: no command "${name}"; see countersign --help\n`,
    );
    return EXIT.usage;
  }
  if (rest.includes('--help') || rest.includes('-h')) {
    terminal.stdout.write(command.help);
    return EXIT.ok;
  }
  try {
    return await command.run(rest, terminal);
  } catch (error) {
    const userError = asUserError(error);
    if (userError === undefined) throw error;
    terminal.stderr.write(`countersign ${command.name}: ${userError.message}\n`);
    return userError.exitCode;
  }
}

/** Errors of the user's making: our own, and those of node's argument parser. */
function asUserError(error: unknown): CliError | undefined {
  if (error instanceof CliError) return error;
  const { code } = error as { code?: unknown };
  if (typeof code !== 'string' || !code.startsWith('ERR_PARSE_ARGS_')) return undefined;
  return new CliError((error as Error).message.split('. ')[0] ?? 'bad arguments');
}

function version(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

import { didYouMean } from '../config/allowed-keys.ts';
import { checkCommand } from './check.ts';
import { CliError, type Command, EXIT, type Terminal } from './command.ts';
import { doctorCommand } from './doctor.ts';
import { hashPasswordCommand } from './hash-password.ts';
import { reportDefect } from './process.ts';
import { schemaCommand } from './schema.ts';
import { serveCommand } from './serve.ts';
import { serviceCommand } from './service.ts';
import { signCommand } from './sign.ts';
import { smokeCommand } from './smoke.ts';
import { verifyCommand } from './verify.ts';
import { version } from './version.ts';
import { workerCommand } from './worker.ts';

const COMMANDS: readonly Command[] = [
  serveCommand,
  checkCommand,
  doctorCommand,
  serviceCommand,
  smokeCommand,
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

Exit codes: 0 done, 1 the answer is no, 2 bad arguments, input or configuration, 70 a defect of Countersign.
Environment: NO_COLOR=1 no colours, COUNTERSIGN_DEBUG=1 the stack of a defect.
`;

/** Runs the command line `args` (without node and script) and resolves to the exit code. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = args;
  if (name === '--version' || name === '-v') {
    terminal.stdout.write(`${version()}\n`);
    return EXIT.ok;
  }
  if (name === 'help' && rest[0] !== undefined) return runCli([rest[0], '--help'], terminal);
  if (name === '--help' || name === '-h' || name === 'help') {
    terminal.stdout.write(OVERVIEW);
    return EXIT.ok;
  }
  const command = [...COMMANDS, workerCommand].find((one) => one.name === name);
  if (command === undefined) {
    terminal.stderr.write(name === undefined ? OVERVIEW : `countersign: ${noCommand(name)}\n`);
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
    if (userError === undefined) return reportDefect(error, command.name, terminal);
    terminal.stderr.write(`countersign ${command.name}: ${userError.message}\n`);
    return userError.exitCode;
  }
}

function noCommand(name: string): string {
  const meant = didYouMean(
    name,
    COMMANDS.map((command) => command.name),
  );
  return `no command "${name}"; ${meant === undefined ? 'see countersign --help' : `did you mean ${meant}?`}`;
}

/** Errors of the user's making: our own, those of node's argument parser, and what the machine did not allow. */
function asUserError(error: unknown): CliError | undefined {
  if (error instanceof CliError) return error;
  const { code, syscall, message } = (error ?? {}) as { code?: unknown; syscall?: unknown; message?: unknown };
  if (typeof code !== 'string') return undefined;
  if (code.startsWith('ERR_PARSE_ARGS_')) return new CliError(String(message).split('. ')[0] ?? 'bad arguments');
  return typeof syscall === 'string' ? new CliError(String(message), EXIT.failed) : undefined;
}

import { EXIT, type Terminal } from './command.ts';

/**
 * Says in one line that something failed that nobody foresaw, and gives the exit code. The stack is for whoever asks for
 * it with COUNTERSIGN_DEBUG=1. `where` is the command.
 */
export function reportDefect(error: unknown, where: string, { stderr, env }: Pick<Terminal, 'stderr' | 'env'>): number {
  const [reason = ''] = String(error).split('\n');
  const isDebug = env['COUNTERSIGN_DEBUG'] === '1';
  const advice = isDebug ? '' : '; COUNTERSIGN_DEBUG=1 shows where';
  stderr.write(`countersign ${where}: this is a defect of Countersign: ${reason}${advice}\n`);
  if (isDebug && error instanceof Error && error.stack !== undefined) stderr.write(`${error.stack}\n`);
  return EXIT.defect;
}

/** The parts of node's `process` that the command line runs in. */
type Host = Pick<NodeJS.Process, 'stdout' | 'stderr' | 'stdin' | 'env' | 'on' | 'exit' | 'exitCode'>;

/**
 * Runs `main` as this process. A reader that left (EPIPE, as in `countersign schema | head -1`) is no error: the command
 * goes on to its own end and exit code. Output that is lost otherwise, on a full disk say, is said and exits 1.
 */
export async function runAsProcess(
  host: Host,
  name: string,
  main: (terminal: Terminal) => Promise<number>,
): Promise<void> {
  const { stdin, stdout, stderr, env } = host;
  let lost = false;
  stdout.on('error', ({ code = 'unknown error' }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') return;
    if (!lost) stderr.write(`countersign: standard output cannot be written (${code})\n`);
    lost = true;
    host.exitCode = EXIT.failed;
  });
  // There is nowhere left to say so.
  stderr.on('error', () => undefined);
  const onDefect = (error: unknown) => host.exit(reportDefect(error, name, { stderr, env }));
  host.on('uncaughtException', onDefect);
  host.on('unhandledRejection', onDefect);
  const code = await main({ stdin, stdout, stderr, env });
  host.exitCode = lost && code === EXIT.ok ? EXIT.failed : code;
}

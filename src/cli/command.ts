/** What a command may touch of the process it runs in. */
export interface Terminal {
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The configuration where a command is given no FILE. */
export const DEFAULT_FILE = 'countersign.yaml';

/** Exit codes, the same for every command. */
export const EXIT = {
  ok: 0,
  /** The command ran and the answer is no: a check failed, a port was in use, a signature did not verify. */
  failed: 1,
  /** The command could not run as it was called: unknown option, missing argument, unreadable input. */
  usage: 2,
  /** A defect of ours (EX_SOFTWARE of sysexits). */
  defect: 70,
} as const;

/** One subcommand of `countersign`; one file each. */
export interface Command {
  readonly name: string;
  /** One line for the overview. */
  readonly summary: string;
  /** The whole `--help` text, with examples. */
  readonly help: string;
  /** Runs with the arguments behind its name and resolves to the exit code. Throws `CliError` for the user's errors. */
  run(args: readonly string[], terminal: Terminal): Promise<number>;
}

/** An error of the user's making: printed as one line, without a stack. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.usage) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Reads a stream to its end as UTF-8 text. */
export async function readAll(stream: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

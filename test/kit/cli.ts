import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { runCli } from '../../src/cli/cli.ts';

export const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line in this process. */
export async function cli(args: readonly string[], stdin = ''): Promise<CliResult> {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const code = await runCli(args, { stdin: Readable.from([stdin]), stdout, stderr, env: {} });
  stdout.end();
  stderr.end();
  return { code, stdout: await text(stdout), stderr: await text(stderr) };
}

/** A process of the command line whose output can be awaited line by line. */
export class CliProcess {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  readonly #exit: Promise<number | null>;

  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.child = spawn(process.execPath, [MAIN, ...args], { env: { ...process.env, ...env }, cwd: ROOT });
    this.#exit = once(this.child, 'close').then(([code]) => code as number | null);
    this.child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      this.stdout += chunk;
      this.child.emit('output');
    });
    this.child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      this.stderr += chunk;
      this.child.emit('output');
    });
  }

  /** Resolves once the output so far matches; rejects when the process ends before. */
  async until(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.stdout) && !pattern.test(this.stderr)) {
      const ended = await Promise.race([once(this.child, 'output').then(() => false), this.#exit.then(() => true)]);
      if (ended && !pattern.test(this.stdout) && !pattern.test(this.stderr)) {
        throw new Error(`ended without ${pattern}: ${this.stdout}${this.stderr}`);
      }
    }
  }

  /** The exit code; null when it was killed by a signal. */
  exited(): Promise<number | null> {
    return this.#exit;
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
    if (this.child.exitCode === null) this.child.kill(signal);
    return this.#exit;
  }
}

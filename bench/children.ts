import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pinning, Place } from './pinning.ts';
import { accepts } from './port.ts';

/** A server has this long to accept its first connection, in milliseconds. */
const START_LIMIT = 30_000;
/** A child that was asked to end is killed after this long, in milliseconds. */
const END_LIMIT = 3000;

/** A program that is interrupted just before it goes to sleep sleeps on: it is interrupted again so much later. */
const INTERRUPT_AGAIN = 250;

/** A command was interrupted, as it was to be, but had not come so far as to expect it. */
export class InterruptedEarly extends Error {
  override readonly name = 'InterruptedEarly';
}

export interface CommandLine {
  readonly place: Place;
  /** Program and arguments. */
  readonly command: readonly string[];
}

/** A process that serves on a loopback port. */
export interface ServerProcess {
  readonly pid: number;
  readonly port: number;
}

/**
 * Every process the benchmark starts. Each leads a process group of its own, so that Ctrl-C reaches only us, and so that
 * what it has started itself (nginx's worker) ends with it.
 */
export class Children {
  readonly #pinning: Pinning;
  readonly #running = new Set<ChildProcess>();
  #ending = false;

  constructor(pinning: Pinning) {
    this.#pinning = pinning;
  }

  /** Starts a server and resolves once its port accepts connections; rejects with what it said when it ended before. */
  async serve(port: number, line: CommandLine): Promise<ServerProcess> {
    const child = this.#spawn(line, 'ignore');
    const said = textOf(child.stderr);
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`ended with ${code} instead of serving: ${said().trim().slice(-500)}`);
    });
    // One that ends later is noticed by those who use it.
    ended.catch(() => undefined);
    await Promise.race([accepts(port, START_LIMIT), ended]);
    return { pid: child.pid ?? 0, port };
  }

  /**
   * Runs a command to its end and gives its stdout; `onOutput` is told of each piece as it comes. `interruptAfter` sends
   * it SIGINT after so many milliseconds; `limit` milliseconds after its start it is killed. Rejects when it fails, with
   * InterruptedEarly when that was all.
   */
  async run(
    line: CommandLine,
    times: { readonly interruptAfter?: number; readonly limit: number },
    onOutput?: (text: string) => void,
  ): Promise<string> {
    const child = this.#spawn(line, 'pipe');
    if (onOutput !== undefined) child.stdout?.on('data', onOutput);
    const stdout = textOf(child.stdout);
    const stderr = textOf(child.stderr);
    const timers = [setTimeout(() => signal(child, 'SIGKILL'), times.limit)];
    const interrupt = () => {
      signal(child, 'SIGINT');
      timers.push(setTimeout(interrupt, INTERRUPT_AGAIN));
    };
    if (times.interruptAfter !== undefined) timers.push(setTimeout(interrupt, times.interruptAfter));
    const [code, killedBy] = await once(child, 'close');
    for (const timer of timers) clearTimeout(timer);
    if (code === 0) return stdout();
    if (killedBy === 'SIGINT') throw new InterruptedEarly(`${line.command[0]} was interrupted before it was ready`);
    throw new Error(`${line.command[0]} ended with ${code ?? killedBy}: ${stderr().trim().slice(-500)}`);
  }

  /** Ends all of them and resolves when they have ended. From now on none can be started. */
  async end(): Promise<void> {
    this.#ending = true;
    const running = [...this.#running];
    const ended = Promise.all(running.map((child) => once(child, 'exit')));
    for (const child of running) signal(child, 'SIGTERM');
    const timely = new AbortController();
    await Promise.race([ended, delay(END_LIMIT, undefined, { signal: timely.signal }).catch(() => undefined)]);
    timely.abort();
    this.kill();
    await ended;
  }

  /** Kills all of them at once; for the moment this process exits. */
  kill(): void {
    for (const child of this.#running) signal(child, 'SIGKILL');
  }

  #spawn({ place, command }: CommandLine, stdout: 'ignore' | 'pipe'): ChildProcess {
    if (this.#ending) throw new Error('the benchmark is ending');
    const [program = '', ...args] = [...this.#pinning.prefix[place], ...command];
    const child = spawn(program, args, {
      detached: true,
      stdio: ['ignore', stdout, 'pipe'],
      env: { ...process.env, NODE_ENV: 'production' },
    });
    this.#running.add(child);
    const over = () => this.#running.delete(child);
    child.once('exit', over).once('error', over);
    return child;
  }
}

function signal(child: ChildProcess, name: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, name);
  } catch {
    // The group has ended already.
  }
}

/** What a stream has said so far: its last 64 KiB. */
function textOf(stream: NodeJS.ReadableStream | null): () => string {
  let text = '';
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-65_536);
  });
  return () => text;
}

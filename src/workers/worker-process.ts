import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { BoundSocket } from 'node:net';
import { Channel } from './channel.ts';
import type { PrimaryCalls, Setup, WorkerCalls } from './messages.ts';

/** How a worker ended: with a code, or by a signal. */
export interface WorkerExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** How long a worker may take to start, in milliseconds: to load, to reach its session store, to listen. */
const START_PATIENCE = 30_000;
/** How long a worker that serves may leave a call unanswered before it is taken for one that hangs, in milliseconds. */
const INFORM_PATIENCE = 5000;
/** What a worker that is told to stop may take beyond its deadline, in milliseconds; then it is killed. */
const STOP_GRACE = 3000;

export interface WorkerProcessOptions {
  /** The script that runs a worker, and its arguments. */
  readonly script: string;
  readonly args: readonly string[];
  readonly socket: BoundSocket;
  readonly setup: Setup;
  readonly calls: PrimaryCalls;
  /** Takes what the worker writes to standard output, in whole lines. */
  readonly onLines: (lines: string) => void;
}

/** One worker as the primary sees it. */
export class WorkerProcess {
  readonly id: number;
  readonly pid: number;
  readonly startedAt = performance.now();
  /** Rejects, with a line that says why, when the worker ends or hangs before it accepts connections. */
  readonly ready: Promise<void>;
  readonly exited: Promise<WorkerExit>;
  readonly #child: ChildProcess;
  readonly #channel: Channel<WorkerCalls, PrimaryCalls>;
  #state: 'starting' | 'serving' | 'stopping' | 'ended' = 'starting';

  constructor(options: WorkerProcessOptions) {
    const { script, args, socket, setup, calls, onLines } = options;
    this.id = setup.id;
    this.#child = fork(script, args, {
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'inherit', 'ipc', socket.fd()],
    });
    this.pid = this.#child.pid ?? 0;
    this.#channel = new Channel(this.#child, calls);
    this.exited = exitOf(this.#child).finally(() => {
      this.#state = 'ended';
    });
    forwardLines(this.#child, onLines);
    this.ready = this.#start(setup);
  }

  /** Whether it may be answering requests, so that it has to know what the others know. */
  get serves(): boolean {
    return this.#state === 'serving' || this.#state === 'stopping';
  }

  tell: Channel<WorkerCalls, PrimaryCalls>['tell'] = (name, argument) => this.#channel.tell(name, argument);

  /**
   * Sends the same to a worker whatever it is doing, and waits for one that serves; one that does not answer is killed. A
   * worker that is still starting takes it in order before it listens. Never rejects: one that ends has nothing to know.
   */
  async inform<N extends keyof WorkerCalls>(name: N, argument: Parameters<WorkerCalls[N]>[0]): Promise<void> {
    if (!this.serves) {
      this.tell(name, argument);
      return;
    }
    try {
      await this.#channel.call(name, argument, INFORM_PATIENCE);
    } catch {
      // It has ended, or it hangs: waking up it must not answer requests by what it knew.
      this.kill();
      await this.exited;
    }
  }

  /** Lets it finish what is in flight within `deadline` milliseconds; kills it when it does not end. */
  async stop(deadline: number, retire: boolean): Promise<WorkerExit> {
    this.#state = this.#state === 'ended' ? 'ended' : 'stopping';
    this.tell('stop', { deadline, retire });
    const timer = setTimeout(() => this.kill(), deadline + STOP_GRACE);
    return this.exited.finally(() => clearTimeout(timer));
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async #start(setup: Setup): Promise<void> {
    const exited = this.exited.then((exit) => {
      throw new Error(`worker ${this.id} could not start: it ended ${describeExit(exit)}`);
    });
    const started = async () => {
      await this.#channel.call('start', setup, START_PATIENCE);
      // From here on it is waited for: what was sent before, it takes before it listens.
      if (this.#state === 'starting') this.#state = 'serving';
      await this.#channel.call('listen', undefined, START_PATIENCE);
    };
    // An exit closes the channel as well; how it ended says more.
    const failed = started().catch(async (thrown: Error) => {
      if (!this.#child.connected) return exited;
      this.kill();
      throw new Error(`worker ${this.id} could not start: ${thrown.message}`);
    });
    await Promise.race([exited, failed]);
  }
}

export function describeExit({ code, signal }: WorkerExit): string {
  return signal === null ? `with exit code ${code}` : `by ${signal}`;
}

/** After `close` all it wrote has been read. A process that could not be made at all has neither code nor signal. */
async function exitOf(child: ChildProcess): Promise<WorkerExit> {
  const [code, signal] = await once(child, 'close').catch((): [null, null] => [null, null]);
  return { code, signal };
}

/** Lines of several processes are passed on whole: written by themselves they could end up in each other's middle. */
function forwardLines(child: ChildProcess, onLines: (lines: string) => void): void {
  let rest = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const end = text.lastIndexOf('\n') + 1;
    if (end === 0) {
      rest += text;
      return;
    }
    onLines(rest + text.slice(0, end));
    rest = text.slice(end);
  });
}

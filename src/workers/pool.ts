import type { BoundSocket } from 'node:net';
import type { Log } from '../observe/log.ts';
import { RestartDelay } from './restart-delay.ts';
import { describeExit, WorkerProcess, type WorkerProcessOptions } from './worker-process.ts';

/** One worker's place: it keeps its number and its listening socket when the worker is replaced. */
interface Slot {
  readonly id: number;
  socket: BoundSocket | undefined;
  /** The worker that takes this place's connections. */
  worker: WorkerProcess | undefined;
  readonly delay: RestartDelay;
  timer: NodeJS.Timeout | undefined;
}

export interface PoolOptions {
  readonly size: number;
  readonly bind: () => BoundSocket;
  /** What a worker that starts now is given; from then on it hears what all are told. */
  readonly prepare: (id: number) => Pick<WorkerProcessOptions, 'script' | 'args' | 'setup' | 'onLines'>;
  readonly calls: (worker: () => WorkerProcess) => WorkerProcessOptions['calls'];
  readonly onEnded: (worker: WorkerProcess) => void;
  /** No worker is left and none can be started. */
  readonly onHopeless: (error: Error) => void;
  readonly log: Log;
}

/** Keeps as many workers running as there are to be. */
export class WorkerPool {
  readonly #options: PoolOptions;
  readonly #slots: readonly Slot[];
  /** Every process that has not ended: starting, serving, or finishing what it has in flight. */
  readonly #processes = new Set<WorkerProcess>();
  #rolling: Promise<void> = Promise.resolve();
  #stopping = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#slots = Array.from({ length: options.size }, (_, i) => ({
      id: i + 1,
      socket: undefined,
      worker: undefined,
      delay: new RestartDelay(),
      timer: undefined,
    }));
  }

  /** Starts all workers. Rejects with an error whose message is for the operator when one of them cannot start. */
  async start(): Promise<void> {
    await Promise.all(
      this.#slots.map(async (slot) => {
        slot.worker = await this.#launch(slot);
      }),
    );
  }

  /** How many places have a worker that takes connections. */
  get serving(): number {
    return this.#slots.filter(({ worker }) => worker !== undefined).length;
  }

  get processes(): Iterable<WorkerProcess> {
    return this.#processes;
  }

  /**
   * Replaces the workers one after the other; the old one finishes what it has in flight within `deadline` milliseconds.
   * Resolves when the last has been replaced. A worker that does not start ends the round, and the old ones go on.
   */
  roll(deadline: () => number): Promise<void> {
    this.#rolling = this.#rolling.then(() => this.#roll(deadline));
    return this.#rolling;
  }

  /** Ends all workers. Gives whether they finished what was in flight within `deadline` milliseconds. */
  async stop(deadline: number): Promise<boolean> {
    this.#stopping = true;
    for (const slot of this.#slots) {
      clearTimeout(slot.timer);
      this.#release(slot);
    }
    const exits = await Promise.all([...this.#processes].map((worker) => worker.stop(deadline, false)));
    return exits.every(({ code }) => code === 0);
  }

  async #roll(deadline: () => number): Promise<void> {
    const { log } = this.#options;
    log.info({ workers: this.#slots.length }, 'replacing the workers one by one');
    for (const slot of this.#slots) {
      // A place that is empty is about to be filled anyway.
      if (this.#stopping || slot.worker === undefined) continue;
      try {
        const next = await this.#launch(slot);
        const previous = slot.worker;
        slot.worker = next;
        void previous?.stop(deadline(), true);
      } catch (error) {
        if (this.#stopping) return;
        log.error({ reason: (error as Error).message }, 'the workers are not replaced: a new one does not start');
        if (slot.worker === undefined) this.#replaceLater(slot);
        return;
      }
    }
    if (!this.#stopping) log.info({ workers: this.#slots.length }, 'the workers are replaced');
  }

  /** Starts a worker on the place's socket. It takes connections when this resolves. */
  async #launch(slot: Slot): Promise<WorkerProcess> {
    const { bind, prepare, calls, log } = this.#options;
    slot.socket ??= bind();
    const worker: WorkerProcess = new WorkerProcess({
      ...prepare(slot.id),
      socket: slot.socket,
      calls: calls(() => worker),
    });
    this.#processes.add(worker);
    void worker.exited.then(() => this.#ended(slot, worker));
    await worker.ready;
    log.info({ worker: worker.id, pid: worker.pid }, 'a worker accepts connections');
    return worker;
  }

  #ended(slot: Slot, worker: WorkerProcess): void {
    this.#processes.delete(worker);
    this.#options.onEnded(worker);
    if (slot.worker !== worker) return;
    slot.worker = undefined;
    if (!this.#stopping) void this.#crashed(slot, worker);
  }

  async #crashed(slot: Slot, worker: WorkerProcess): Promise<void> {
    const { id, pid, startedAt } = worker;
    const how = describeExit(await worker.exited);
    this.#options.log.error({ worker: id, pid }, `a worker ended ${how}; another takes its place`);
    if (performance.now() - startedAt >= RestartDelay.STEADY) slot.delay.reset();
    this.#replaceLater(slot);
  }

  #replaceLater(slot: Slot): void {
    const delay = slot.delay.next();
    // Connections that wait on the socket are kept for the next worker, but not for long, and not to be failed again.
    if (delay > 0) this.#release(slot);
    slot.timer = setTimeout(() => void this.#replace(slot), delay);
  }

  async #replace(slot: Slot): Promise<void> {
    try {
      slot.worker = await this.#launch(slot);
    } catch (error) {
      if (this.#stopping) return;
      const { message } = error as Error;
      this.#options.log.error({ worker: slot.id }, message);
      if (this.serving === 0 && slot.delay.isHopeless) this.#options.onHopeless(error as Error);
      else this.#replaceLater(slot);
    }
  }

  #release(slot: Slot): void {
    slot.socket?.close();
    slot.socket = undefined;
  }
}

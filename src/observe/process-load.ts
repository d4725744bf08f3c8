import { monitorEventLoopDelay } from 'node:perf_hooks';

/** The event loop's delay is measured afresh so often, in milliseconds. */
const DELAY_WINDOW = 60_000;

/** How busy a process is. */
export interface Load {
  /** 99th percentile of the last minute or so. */
  readonly eventLoopDelayMs: number;
  /** Share of one core since the last reading. */
  readonly cpu: number;
  /** Bytes. */
  readonly rss: number;
}

/** Of several processes: the longest delay, and what they use together. */
export function busiest(loads: readonly Load[]): Load {
  return {
    eventLoopDelayMs: Math.max(0, ...loads.map(({ eventLoopDelayMs }) => eventLoopDelayMs)),
    cpu: Math.round(loads.reduce((sum, { cpu }) => sum + cpu, 0) * 1000) / 1000,
    rss: loads.reduce((sum, { rss }) => sum + rss, 0),
  };
}

/** Measures how busy this process is. */
export class ProcessLoad {
  readonly #delay = monitorEventLoopDelay({ resolution: 20 });
  #measuredSince = performance.now();
  #usage = process.cpuUsage();
  #usageAt = performance.now();

  constructor() {
    this.#delay.enable();
  }

  read(): Load {
    const now = performance.now();
    const { user, system } = process.cpuUsage(this.#usage);
    const cpu = (user + system) / 1000 / Math.max(1, now - this.#usageAt);
    this.#usage = process.cpuUsage();
    this.#usageAt = now;
    // The histogram measures the timer's whole interval; what is beyond it is delay.
    const delay = this.#delay.count === 0 ? 0 : Math.max(0, this.#delay.percentile(99) / 1e6 - 20);
    if (now - this.#measuredSince > DELAY_WINDOW) {
      this.#delay.reset();
      this.#measuredSince = now;
    }
    return {
      eventLoopDelayMs: Math.round(delay * 10) / 10,
      cpu: Math.round(cpu * 1000) / 1000,
      rss: process.memoryUsage.rss(),
    };
  }

  close(): void {
    this.#delay.disable();
  }
}

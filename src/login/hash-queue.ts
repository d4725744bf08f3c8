import { Problem } from '../problem.ts';

/**
 * Runs few tasks at a time and lets few wait. Verifying a password takes 19 MiB and a thread of the pool that files need
 * too, so a flood of logins must queue up, and beyond a short queue be refused, rather than take the process with it.
 */
export class HashQueue {
  readonly #concurrency: number;
  readonly #capacity: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(options: { concurrency: number; capacity: number }) {
    this.#concurrency = options.concurrency;
    this.#capacity = options.capacity;
  }

  /** Throws Problem `rate-limit-exceeded` when the queue is full. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#running < this.#concurrency) {
      this.#running++;
    } else {
      if (this.#waiting.length >= this.#capacity) {
        throw new Problem('rate-limit-exceeded', 'Too many logins are being checked at the moment.', {
          headers: { 'Retry-After': '1' },
        });
      }
      // Whoever finishes hands over its place, so that nobody who comes later can take it first.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}

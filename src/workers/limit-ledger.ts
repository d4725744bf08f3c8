import type { LimitNews } from '../edge/limits.ts';

/** Entries kept; past that the oldest are forgotten, which errs towards letting a request through. */
const CAPACITY = 100_000;

/** What the workers have told of the edge's limits: a worker that starts must not begin from nothing. */
export class LimitLedger {
  readonly #clock: () => number;
  /** Oldest first. */
  readonly #entries = new Map<string, LimitNews>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  add(news: readonly LimitNews[]): void {
    for (const one of news) {
      const id = `${one.limit}\n${one.start}\n${one.window}\n${one.key}`;
      const known = this.#entries.get(id);
      this.#entries.set(id, known === undefined ? one : { ...known, count: known.count + one.count });
    }
    while (this.#entries.size > CAPACITY) {
      const { value } = this.#entries.keys().next();
      if (value !== undefined) this.#entries.delete(value);
    }
  }

  /** All that still counts: of the present windows and of those before them. */
  read(): LimitNews[] {
    const now = this.#clock();
    for (const [id, { start, window }] of this.#entries) if (now >= start + 2 * window) this.#entries.delete(id);
    return [...this.#entries.values()];
  }
}

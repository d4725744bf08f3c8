import type { LiveStreams } from './streams.ts';

/**
 * Lets the live streams of a tenant that was taken out of the configuration go on for a while, and then closes them. Its
 * requests need nothing of the kind: those in flight finish by themselves, and a new one finds no tenant.
 */
export class RemovedTenants {
  readonly #streams: Pick<LiveStreams, 'endTenants'>;
  /** Tenants whose time has begun or is over. */
  readonly #leaving = new Map<string, NodeJS.Timeout>();
  readonly #gone = new Set<string>();

  constructor(streams: Pick<LiveStreams, 'endTenants'>) {
    this.#streams = streams;
  }

  /** `drain` is how long their streams may go on, in milliseconds. */
  remove(names: readonly string[], drain: number): void {
    for (const name of names) {
      const timer = setTimeout(() => {
        this.#leaving.delete(name);
        this.#gone.add(name);
        this.#streams.endTenants(new Set(this.#gone));
      }, drain);
      this.#leaving.set(name, timer.unref());
    }
  }

  /** Tenants that are (again) in the configuration. */
  add(names: readonly string[]): void {
    for (const name of names) {
      clearTimeout(this.#leaving.get(name));
      this.#leaving.delete(name);
      this.#gone.delete(name);
    }
    this.#streams.endTenants(new Set(this.#gone));
  }
}

/** How far back is counted, in milliseconds. */
const RECENT = 10_000;

/**
 * How many of the events of the last ten seconds were of a certain kind, in constant space: of the ten seconds before the
 * present stretch as much is counted as may still lie within. `now` is epoch milliseconds throughout.
 */
export class RecentShare {
  #since = 0;
  #all = 0;
  #marked = 0;
  #allBefore = 0;
  #markedBefore = 0;

  count(now: number): void {
    this.#turn(now);
    this.#all++;
  }

  mark(now: number): void {
    this.#turn(now);
    this.#marked++;
  }

  read(now: number): { readonly all: number; readonly marked: number } {
    this.#turn(now);
    const left = 1 - (now - this.#since) / RECENT;
    return { all: this.#all + this.#allBefore * left, marked: this.#marked + this.#markedBefore * left };
  }

  clear(): void {
    this.#all = this.#marked = this.#allBefore = this.#markedBefore = 0;
  }

  #turn(now: number): void {
    const age = now - this.#since;
    if (age >= 0 && age < RECENT) return;
    // A clock that was set back, or a long silence, leaves nothing to remember.
    const isNext = age >= 0 && age < 2 * RECENT;
    this.#allBefore = isNext ? this.#all : 0;
    this.#markedBefore = isNext ? this.#marked : 0;
    this.#all = this.#marked = 0;
    this.#since = isNext ? this.#since + RECENT : now;
  }
}

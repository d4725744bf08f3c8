/** Counters of the last seconds: one row of `width` counters per second, the oldest row making room for the newest. */
export class SecondRing {
  readonly #length: number;
  readonly #width: number;
  readonly #counts: Uint32Array;
  #newest: number;

  /** Seconds are whole numbers on any monotonic scale; `second` is the present one. */
  constructor(length: number, width: number, second: number) {
    this.#length = length;
    this.#width = width;
    this.#counts = new Uint32Array(length * width);
    this.#newest = second;
  }

  /** Adds to a counter of the present second. */
  add(second: number, column: number, count = 1): void {
    if (second > this.#newest) this.#advance(second);
    const at = (second % this.#length) * this.#width + column;
    this.#counts[at] = (this.#counts[at] ?? 0) + count;
  }

  /** Adds a whole row of counts to the present second. */
  addRow(second: number, counts: ArrayLike<number>): void {
    if (second > this.#newest) this.#advance(second);
    const row = (second % this.#length) * this.#width;
    for (let column = 0; column < this.#width; column++) {
      this.#counts[row + column] = (this.#counts[row + column] ?? 0) + (counts[column] ?? 0);
    }
  }

  /** The sums of the rows from second `from` to before second `until`; what the ring no longer has counts nothing. */
  sum(from: number, until: number): Float64Array {
    const sums = new Float64Array(this.#width);
    const first = Math.max(0, from, this.#newest - this.#length + 1);
    for (let second = first; second < until && second <= this.#newest; second++) {
      const row = (second % this.#length) * this.#width;
      for (let column = 0; column < this.#width; column++) {
        sums[column] = (sums[column] ?? 0) + (this.#counts[row + column] ?? 0);
      }
    }
    return sums;
  }

  #advance(second: number): void {
    const stale = Math.min(second - this.#newest, this.#length);
    for (let i = 0; i < stale; i++) {
      const row = ((second - i) % this.#length) * this.#width;
      this.#counts.fill(0, row, row + this.#width);
    }
    this.#newest = second;
  }
}

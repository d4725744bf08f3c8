const FIRST = 100;
const LONGEST = 10_000;
/** Failures in a row after which a start is not expected to succeed any more. */
const HOPELESS = 6;

/** How long to wait before a worker is started again, in milliseconds: not at all at first, then longer each time. */
export class RestartDelay {
  /** A worker that lived so long did not fail by starting, in milliseconds. */
  static readonly STEADY = 10_000;
  #failures = 0;

  next(): number {
    const failures = this.#failures++;
    return failures === 0 ? 0 : Math.min(FIRST * 2 ** (failures - 1), LONGEST);
  }

  get isHopeless(): boolean {
    return this.#failures >= HOPELESS;
  }

  reset(): void {
    this.#failures = 0;
  }
}

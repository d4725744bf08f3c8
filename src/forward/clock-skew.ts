/** How far two clocks may drift apart unnoticed, in milliseconds per millisecond: far worse than any quartz. */
const DRIFT = 1e-4;
/** A Date header is whole seconds, the rest cut off, in milliseconds. */
const RESOLUTION = 1000;

/** How far a clock is ahead of ours, in milliseconds; true within plus or minus `uncertainty`. */
export interface SkewEstimate {
  readonly ms: number;
  readonly uncertainty: number;
}

/**
 * Estimates an upstream's clock from the Date headers of its answers. An answer says: at some instant between sending
 * and receiving, their clock stood in this second. What all such statements allow in common is far narrower than any of them.
 */
export class ClockSkew {
  #low = Number.NEGATIVE_INFINITY;
  #high = Number.POSITIVE_INFINITY;
  #at = 0;

  /**
   * `date`: the header. `receivedAt`: our clock, epoch milliseconds, `elapsed` of them after sending. Gives how it relates to
   * what was known: where it contradicts that, one of the clocks was set, and the new date alone counts.
   */
  note(date: string, receivedAt: number, elapsed: number): 'agrees' | 'contradicts' | 'unreadable' {
    const second = Date.parse(date);
    if (Number.isNaN(second)) return 'unreadable';
    const low = second - receivedAt;
    const high = second + RESOLUTION - (receivedAt - elapsed);
    const slack = Math.abs(receivedAt - this.#at) * DRIFT;
    this.#at = receivedAt;
    const [lowest, highest] = [Math.max(low, this.#low - slack), Math.min(high, this.#high + slack)];
    const agrees = lowest <= highest;
    [this.#low, this.#high] = agrees ? [lowest, highest] : [low, high];
    return agrees ? 'agrees' : 'contradicts';
  }

  get estimate(): SkewEstimate | undefined {
    if (!Number.isFinite(this.#low)) return undefined;
    return { ms: (this.#low + this.#high) / 2, uncertainty: (this.#high - this.#low) / 2 };
  }
}

import { ClockSkew, type SkewEstimate } from './clock-skew.ts';

/** `off`: so far that signatures are made in its time. `alarm`: so far that somebody has to be told. */
export type ClockState = 'ok' | 'off' | 'alarm';

/** Beyond the first a clock is off, beyond the second it is an alarm, in milliseconds. */
const OFF = 30_000;
const ALARM = 5 * 60_000;
/** What has been off is well again below this share of the bound, so that a clock just at it does not flap. */
const WELL_AGAIN = 2 / 3;
/**
 * A clock that seems to be further off is not followed, in milliseconds: a time zone's error lies within, and nobody can
 * make us sign requests that become valid some day.
 */
const FURTHEST = 24 * 3_600_000;
/** The Date header of one answer in so many milliseconds is looked at, unless it explains a refusal. */
const EVERY = 1000;

/** One answer of an upstream, as far as it tells the time. Milliseconds. */
export interface ClockReading {
  readonly date: string;
  /** Epoch, on our clock. */
  readonly receivedAt: number;
  /** From sending to receiving. */
  readonly elapsed: number;
  /** What had been added to our time in the signature. */
  readonly offset: number;
  /** The request was refused, perhaps because of its date. */
  readonly refused: boolean;
}

/** Follows the clock of an upstream by the Date headers of its answers. */
export class UpstreamClock {
  readonly #skew = new ClockSkew();
  readonly #changed: (state: ClockState, skew: SkewEstimate) => void;
  #readAt = Number.NEGATIVE_INFINITY;
  /** The newest date contradicts those before it, and has not been confirmed yet. */
  #isDoubtful = false;
  #state: ClockState = 'ok';
  #offset = 0;

  constructor(changed: (state: ClockState, skew: SkewEstimate) => void) {
    this.#changed = changed;
  }

  get state(): ClockState {
    return this.#state;
  }

  /** Milliseconds to be added to our time in a signature; 0 while the clocks agree well enough. */
  get offset(): number {
    return this.#offset;
  }

  get estimate(): SkewEstimate | undefined {
    return this.#skew.estimate;
  }

  isDue(receivedAt: number): boolean {
    return Math.abs(receivedAt - this.#readAt) >= EVERY;
  }

  /** Gives whether the request's date explains its refusal: signed in the time that is known now it may well pass. */
  read({ date, receivedAt, elapsed, offset, refused }: ClockReading): boolean {
    const relation = this.#skew.note(date, receivedAt, elapsed);
    if (relation === 'unreadable') return false;
    this.#readAt = receivedAt;
    // One date out of line may be that of some box in between. A refusal is different: the Service judged by its clock.
    if (relation === 'contradicts' && !refused && !this.#isDoubtful) {
      this.#isDoubtful = true;
      return false;
    }
    this.#isDoubtful = false;
    const skew = this.#skew.estimate as SkewEstimate;
    this.#settle(skew);
    const deviation = Math.abs(skew.ms - offset) - skew.uncertainty;
    return refused && deviation > OFF && Math.abs(this.#offset - offset) > OFF / 3;
  }

  #settle(skew: SkewEstimate): void {
    const size = Math.abs(skew.ms);
    const state = stateOf(this.#state, size - skew.uncertainty, size + skew.uncertainty);
    this.#offset = state === 'ok' || size > FURTHEST ? 0 : Math.round(skew.ms);
    if (state === this.#state) return;
    this.#state = state;
    this.#changed(state, skew);
  }
}

function stateOf(current: ClockState, least: number, most: number): ClockState {
  if (least > ALARM || (current === 'alarm' && most > ALARM * WELL_AGAIN)) return 'alarm';
  if (least > OFF || (current !== 'ok' && most > OFF * WELL_AGAIN)) return 'off';
  return 'ok';
}

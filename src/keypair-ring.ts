import type { Keypair, RateFigures } from './tenant.ts';

export type KeypairState = 'next' | 'active' | 'retired';

/** A keypair with the place its operator gives it in a rotation. Dates are epoch milliseconds. */
export interface RingMember {
  readonly keypair: Keypair;
  readonly state: KeypairState;
  /** Signs from then on. */
  readonly notBefore?: number | undefined;
  /** Signs no longer from then on. */
  readonly notAfter?: number | undefined;
}

/** Stands on a keypair from its refusal by the Service until the Service accepts it again. Epoch milliseconds. */
export interface KeypairRefusal {
  /** Cool-offs in a row. */
  readonly count: number;
  /** When the cool-off is over and one request at a time may try the keypair again. */
  readonly until: number;
  /** The newest refusal. */
  at: number;
  /** A request is trying the keypair; no other does before then. */
  tryingUntil: number;
}

/** One keypair for an operator's eyes. */
export interface KeypairDescription {
  readonly accessKey: string;
  readonly state: KeypairState;
  /** Not retired, and now is between its dates. */
  readonly valid: boolean;
  /** What the next request would be signed with. */
  readonly current: boolean;
  /** Epoch milliseconds; only on a keypair that the Service refuses. */
  readonly setAsideUntil?: number;
  readonly quota?: RateFigures;
}

const FIRST_COOL_OFF = 60_000;
const LONGEST_COOL_OFF = 15 * 60_000;
/** How long a request that tries a refused keypair keeps others from doing the same. */
const TRIAL = 10_000;
/** Clocks may differ by so much (service-api.md §5), so a date that near may already be, or still not be, past. */
const CLOCK_TOLERANCE = 15 * 60_000;

/** Scores: lower is better. A class, and within it the distance in milliseconds from the date that decides. */
const RESERVE = 1e15;
const OUTSIDE = 2e15;
const NEVER = Number.POSITIVE_INFINITY;
const UNDATED = 9e14;

/**
 * The keypairs of one role. First choice is an active keypair between its dates, or a next one whose notBefore has come:
 * of several the one whose notBefore came last. Without one a next keypair signs early. A keypair that the Service refuses
 * is set aside for a cool-off; then any other does that is not refused, even one whose dates are off by no more than clocks
 * may be. A retired keypair never signs.
 */
export class KeypairRing {
  readonly members: readonly RingMember[];
  /** The one keypair of a ring there is nothing to choose in. */
  readonly #only: Keypair | undefined;
  #signer: Keypair | undefined;
  #signerSince = 0;

  constructor(members: readonly RingMember[]) {
    this.members = members;
    const [first] = members;
    const isPlain = first?.state === 'active' && first.notBefore === undefined && first.notAfter === undefined;
    this.#only = isPlain && members.length === 1 ? first.keypair : undefined;
  }

  /** A ring of one keypair that is always active. */
  static of(keypair: Keypair): KeypairRing {
    return new KeypairRing([{ keypair, state: 'active' }]);
  }

  /**
   * What to sign a new request with; undefined when no keypair is valid. `repeatable`: the request can be sent again should
   * the keypair be refused, so it may try one whose cool-off is over.
   */
  pick(now: number, repeatable = true): Keypair | undefined {
    const keypair = this.#choose(now, repeatable);
    if (keypair?.refusal !== undefined) keypair.refusal.tryingUntil = now + TRIAL;
    return keypair;
  }

  /** What to send a request again with that was refused with `refused`; undefined when there is no other keypair. */
  replacement(refused: Keypair, now: number): Keypair | undefined {
    return this.#standIn(now, true, refused);
  }

  /**
   * The Service refused a request signed with `keypair`; `before` is the refusal that stood on it when the request was
   * sent. Gives whether this is news: the keypair was in use until now.
   */
  refuse(keypair: Keypair, before: KeypairRefusal | undefined, now: number): boolean {
    const known = keypair.refusal;
    if (known === undefined) {
      keypair.refusal = { count: 1, until: now + FIRST_COOL_OFF, at: now, tryingUntil: 0 };
      return true;
    }
    // Requests that were under way when it was set aside prove nothing new.
    if (known !== before) return false;
    if (now < known.until) {
      known.at = now;
    } else {
      const coolOff = Math.min(FIRST_COOL_OFF * 2 ** known.count, LONGEST_COOL_OFF);
      keypair.refusal = { count: known.count + 1, until: now + coolOff, at: now, tryingUntil: 0 };
    }
    return false;
  }

  /** The Service accepted a request signed with `keypair`. Gives whether this brings the keypair back. */
  accept(keypair: Keypair, before: KeypairRefusal | undefined): boolean {
    if (before === undefined || keypair.refusal !== before) return false;
    keypair.refusal = undefined;
    return true;
  }

  /** Notes which keypair was accepted for a request sent at `sentAt`. Gives the one it follows when it is another. */
  handOver(keypair: Keypair, sentAt: number, now: number): Keypair | undefined {
    const previous = this.#signer;
    // An answer to what was sent before the last change would turn the change back.
    if (previous !== undefined && sentAt <= this.#signerSince) return undefined;
    this.#signer = keypair;
    this.#signerSince = now;
    return previous;
  }

  /** The keypair that was accepted last, but for answers that were late. */
  get signer(): Keypair | undefined {
    return this.#signer;
  }

  describe(now: number): KeypairDescription[] {
    const current = this.#choose(now, true);
    return this.members.map(({ keypair, state, notBefore = -Infinity, notAfter = Infinity }) => ({
      accessKey: keypair.accessKey,
      state,
      valid: state !== 'retired' && notBefore <= now && now < notAfter,
      current: keypair === current,
      ...(keypair.refusal && { setAsideUntil: keypair.refusal.until }),
      ...(keypair.quota && { quota: keypair.quota }),
    }));
  }

  #choose(now: number, repeatable: boolean): Keypair | undefined {
    if (this.#only !== undefined) return this.#only;
    let best: Keypair | undefined;
    let bestScore = OUTSIDE;
    for (const member of this.members) {
      const score = scoreOf(member, now);
      if (score >= bestScore) continue;
      best = member.keypair;
      bestScore = score;
    }
    return best?.refusal === undefined ? best : this.#standIn(now, repeatable, undefined);
  }

  /** The best keypair that is not set aside; else the one refused the longest ago, so that each gets its turn. */
  #standIn(now: number, repeatable: boolean, except: Keypair | undefined): Keypair | undefined {
    let best: Keypair | undefined;
    let bestScore = NEVER;
    let rested: Keypair | undefined;
    let restedSince = NEVER;
    for (const member of this.members) {
      const { keypair } = member;
      const { refusal } = keypair;
      const score = scoreOf(member, now);
      if (score === NEVER || keypair === except) continue;
      if (refusal === undefined || (repeatable && now >= refusal.until && now >= refusal.tryingUntil)) {
        if (score >= bestScore) continue;
        best = keypair;
        bestScore = score;
      } else if (refusal.at < restedSince) {
        rested = keypair;
        restedSince = refusal.at;
      }
    }
    return best ?? rested;
  }
}

function scoreOf({ state, notBefore, notAfter }: RingMember, now: number): number {
  if (state === 'retired') return NEVER;
  if (notAfter !== undefined && now >= notAfter) return outside(now - notAfter);
  if (notBefore === undefined) return state === 'next' ? RESERVE + UNDATED : UNDATED;
  if (now >= notBefore) return now - notBefore;
  return state === 'next' ? RESERVE + Math.min(notBefore - now, UNDATED) : outside(notBefore - now);
}

function outside(distance: number): number {
  return distance <= CLOCK_TOLERANCE ? OUTSIDE + distance : NEVER;
}

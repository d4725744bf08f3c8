import { parseDate } from '../signing/date.ts';
import { MAX_CLOCK_DEVIATION } from '../signing/verify.ts';
import { spanInWords } from './duration.ts';
import type { Reply } from './http.ts';
import type { Step } from './report.ts';

/** Up to here a difference is of no consequence, in milliseconds. */
const UNREMARKABLE = 30_000;
/** From here on it is a failure: two thirds of the way to a refusal are left. */
const ALARMING = 5 * 60_000;

/** How far another clock is from this machine's, in milliseconds. */
export interface Skew {
  /** Positive when the other clock is ahead. */
  readonly ms: number;
  /** The truth is this close: half the round trip, and half of Date's one second. */
  readonly within: number;
}

/** A clock that may settle which of two others is wrong. */
export interface Witness {
  readonly name: string;
  readonly skew: Skew;
}

/** Reads the Date of an answer, RFC 1123 or ISO 8601, against the middle of the exchange; undefined without one. */
export function skewOf({ headers, sentAt, receivedAt }: Reply): Skew | undefined {
  const date = headers.date === undefined ? undefined : parseDate(headers.date.trim());
  if (date === undefined) return undefined;
  // Date drops the fraction of its second, so on average the instant lies half a second later.
  return { ms: date + 500 - (sentAt + receivedAt) / 2, within: (receivedAt - sentAt) / 2 + 500 };
}

/** The instant signatures must be made at when the clocks are so far apart that it matters. */
export function mustSignInTheirTime(skew: Skew | undefined): skew is Skew {
  return skew !== undefined && Math.abs(skew.ms) > 2 * UNREMARKABLE;
}

/** Judges an upstream's clock. `witnesses` are clocks of other machines. */
export function clockStep(skew: Skew | undefined, witnesses: readonly Witness[]): Step {
  if (skew === undefined) {
    return { name: 'clock', status: 'skipped', says: 'The answer has no Date header, so its clock cannot be read.' };
  }
  const size = Math.abs(skew.ms);
  if (size <= UNREMARKABLE + skew.within) {
    const says = size <= skew.within ? 'agrees with this machine’s' : `${describe(skew)}, which does no harm`;
    return { name: 'clock', status: 'ok', says: `${says} (to ${(skew.within / 1000).toFixed(1)} s)` };
  }
  const consequence =
    size > MAX_CLOCK_DEVIATION
      ? 'The Service refuses requests whose time is more than 15 min from its own.'
      : 'Past 15 min the Service refuses every request that is not signed in its own time.';
  const { blame, hint } = whose(skew, witnesses);
  return {
    name: 'clock',
    status: size > ALARMING ? 'failed' : 'warning',
    code: 'clock-skew',
    says: `The upstream’s clock is ${describe(skew)}. ${blame} ${consequence}`,
    hint,
  };
}

/** `20 min 3 s ahead of this machine's`. */
export function describe({ ms }: Skew): string {
  return `${spanInWords(ms)} ${ms > 0 ? 'ahead of' : 'behind'} this machine’s`;
}

/** Two clocks alone cannot say which of them is wrong; a majority with a third can. */
function whose(skew: Skew, witnesses: readonly Witness[]): { blame: string; hint: string } {
  const names = (agreeing: readonly Witness[]) => agreeing.map(({ name }) => name).join(', ');
  const withUs = witnesses.filter((witness) => agree(witness.skew.ms, 0));
  const withThem = witnesses.filter((witness) => agree(witness.skew.ms, skew.ms));
  if (withUs.length > withThem.length) {
    const blame = `It is the upstream’s that is wrong: ${names(withUs)} agrees with this machine’s.`;
    return { blame, hint: 'Set the upstream’s clock, and have NTP keep it.' };
  }
  if (withThem.length > withUs.length) {
    const blame = `It is this machine’s that is wrong: ${names(withThem)} agrees with the upstream’s.`;
    return { blame, hint: 'Set the clock of this machine, and have NTP keep it.' };
  }
  const blame = 'Which of the two is wrong cannot be told from two clocks.';
  return { blame, hint: 'Name a server whose clock is right with --clock URL, or compare `date -u` on both machines.' };
}

function agree(a: number, b: number): boolean {
  return Math.abs(a - b) <= UNREMARKABLE;
}

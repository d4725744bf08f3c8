import { describe, mustSignInTheirTime, type Skew } from './clock.ts';
import type { RoleKeypair } from './keypairs.ts';
import { askSigned, GET_VERSION, type Recipe } from './recipe.ts';
import type { Step } from './report.ts';
import { type Circumstances, type Variant, variantsOf } from './variants.ts';
import { verdictOf } from './verdict.ts';

/** A refusal to be explained. */
export interface RefusedRequest {
  readonly recipe: Recipe;
  /** The upstream's answer, in words. */
  readonly says: string;
  readonly skew: Skew | undefined;
  readonly circumstances: Circumstances;
}

export type Explanation = Pick<Step, 'code' | 'says' | 'hint'>;

/** What was found out. Signed by `worked` the request is accepted, which proves the explanation. */
export interface Diagnosis {
  readonly explanation: Explanation;
  /** Undefined where the upstream would not have it tried. */
  readonly worked: Recipe | undefined;
}

/**
 * Finds out why a signed request was refused by signing it in other ways until one is accepted: what is accepted names
 * the cause for certain. Undefined when nothing is.
 */
export async function diagnose(refused: RefusedRequest, now: () => number): Promise<Diagnosis | undefined> {
  const { recipe, skew } = refused;
  let isLimited = false;
  const isAccepted = async (candidate: Recipe) => {
    try {
      const { kind } = verdictOf(await askSigned(candidate, GET_VERSION, now));
      isLimited ||= kind === 'quota-used-up';
      return kind === 'accepted';
    } catch {
      // A host the upstream's TLS or HTTP does not take is no way to reach it.
      return false;
    }
  };

  const inTheirTime = mustSignInTheirTime(skew) ? { skew, recipe: { ...recipe, clockOffset: skew.ms } } : undefined;
  if (inTheirTime !== undefined && (await isAccepted(inTheirTime.recipe))) {
    return { explanation: clockIsWrong(inTheirTime.skew), worked: inTheirTime.recipe };
  }

  const variants = variantsOf(inTheirTime?.recipe ?? recipe, refused.circumstances);
  let cause: Variant | undefined;
  for (const variant of variants) {
    if (await isAccepted(variant.recipe)) cause = variant;
    if (cause !== undefined || isLimited) break;
  }
  if (isLimited) return { explanation: RATE_LIMITED, worked: undefined };
  if (cause === undefined) return undefined;
  if (await isAccepted(recipe)) return { explanation: unsteady(refused.says), worked: recipe };
  const { recipe: worked, ...explanation } = cause;
  // A clock that is off by less than the Service allows is no cause.
  if (inTheirTime === undefined || (await isAccepted({ ...worked, clockOffset: 0 }))) return { explanation, worked };
  return { explanation: both(inTheirTime.skew, explanation), worked };
}

const RATE_LIMITED: Explanation = {
  code: 'quota-used-up',
  says: 'Why could not be found out: the upstream has begun to answer 429, too many requests.',
  hint: 'Run doctor again once the window has passed.',
};

function clockIsWrong(skew: Skew): Explanation {
  return {
    code: 'clock-skew',
    says: `It is the clock: signed in the upstream’s time, which is ${describe(skew)}, the request is accepted.`,
    hint: 'See “clock” of this endpoint for which clock is wrong.',
  };
}

function both(skew: Skew, { code, says, hint }: Omit<Variant, 'recipe'>): Explanation {
  const clock = `signed in the upstream’s time, which is ${describe(skew)}`;
  return {
    code,
    says: `Two things at once: it is accepted only ${clock}, and if besides that another thing is set right. ${says}`,
    hint: `${hint} See “clock” of this endpoint for which clock is wrong.`,
  };
}

function unsteady(says: string): Explanation {
  return {
    code: 'unsteady',
    says: `Refused at first (${says}), and accepted unchanged a moment later.`,
    hint: 'Several servers behind one endpoint may know different keys, or have different clocks.',
  };
}

/** What is left when nothing was accepted, said as what it is: likely. `working` are those that were accepted. */
export function unexplained(
  { label, place }: RoleKeypair,
  status: number,
  working: readonly RoleKeypair[],
  skew: Skew | undefined,
): Explanation {
  const [other] = working;
  if (status === 403) {
    return {
      code: 'forbidden',
      says: 'Refused however it is signed, with 403: the keypair may lack the right to ask, or a firewall is in between.',
      hint: 'Have the Service’s administrator look at the rights of this access key.',
    };
  }
  if (other !== undefined) {
    return {
      code: 'wrong-secret',
      says: `The secret key of ${label} is wrong, or its access key unknown or inactive there: ${other.label} is accepted on the same endpoint in a way in which ${label} is not. Which of the two it is the Service does not tell.`,
      hint: `Compare ${place} with what the Service’s administrator gave you.`,
    };
  }
  const clock = skew === undefined ? 'a clock that could not be read, ' : '';
  return {
    code: 'wrong-secret',
    says: `Refused however it is signed${mustSignInTheirTime(skew) ? ', in the upstream’s time too' : ''}. Most likely the secret key of ${label} is wrong, or its access key unknown or inactive there; the Service does not tell which. Less likely: ${clock}a signed host or dialect that was not guessed.`,
    hint: `Compare ${place} with what the Service’s administrator gave you; then ask them which host they verify (upstream.signedHost).`,
  };
}

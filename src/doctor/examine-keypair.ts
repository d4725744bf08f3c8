import { quotaStep, versionStep } from './answer-steps.ts';
import type { Explanation } from './diagnose.ts';
import type { RoleKeypair } from './keypairs.ts';
import { type Trouble, troubleOf } from './network-error.ts';
import { askSigned, explain, GET_VERSION, type Recipe, type SignedAnswer } from './recipe.ts';
import type { KeypairReport, Step } from './report.ts';
import { type Verdict, verdictOf } from './verdict.ts';

/** A signed GET of the version endpoint with one keypair, and what came of it. */
export interface Attempt {
  readonly signer: RoleKeypair;
  readonly recipe: Recipe;
  readonly answer: SignedAnswer | undefined;
  readonly verdict: Verdict | undefined;
  /** Why there is no answer. */
  readonly trouble: Trouble | undefined;
}

export async function attemptWith(recipe: Recipe, signer: RoleKeypair, now: () => number): Promise<Attempt> {
  try {
    const answer = await askSigned(recipe, GET_VERSION, now);
    return { signer, recipe, answer, verdict: verdictOf(answer), trouble: undefined };
  } catch (error) {
    return { signer, recipe, answer: undefined, verdict: undefined, trouble: troubleOf(error) };
  }
}

/** What is to be said about an attempt. `explanation` is why it was refused, undefined where it was not. */
export function reportOn(
  { signer, recipe, answer, verdict, trouble }: Attempt,
  explanation: Explanation | undefined,
  hasSignedHost: boolean,
): KeypairReport {
  const { role, state, current } = signer;
  const who = { role, accessKey: recipe.accessKey, state, current };
  if (answer === undefined || verdict === undefined) {
    const { says = '', hint } = trouble ?? {};
    const step: Step = { name: 'signature', status: 'failed', code: 'no-answer', says, ...(hint && { hint }) };
    return { ...who, steps: [step] };
  }
  if (verdict.kind === 'accepted') {
    const { step, quota } = quotaStep(answer.reply.headers);
    const signed: Step = { name: 'signature', status: 'ok', says: `GET /v2 is accepted (${answer.reply.status})` };
    const steps = [signed, versionStep(recipe.version, verdict.version), step];
    return { ...who, steps, version: verdict.version, ...(quota && { quota }) };
  }
  if (verdict.kind !== 'refused') return { ...who, steps: [otherStep(verdict, recipe.version)] };
  const says = `GET /v2 is refused (${verdict.says}). ${explanation?.says ?? ''}`;
  const step: Step = { name: 'signature', status: 'failed', ...explanation, says };
  if (!current) return { ...who, steps: [standbyStep(state, step)] };
  return { ...who, steps: [step], stringToSign: explain(recipe, answer.signedFor, signer.place, hasSignedHost) };
}

/** A refusal that no front end sees, as the keypair does not sign now. */
function standbyStep(state: RoleKeypair['state'], step: Step): Step {
  if (state === 'retired')
    return { name: 'signature', status: 'ok', says: 'GET /v2 is refused: the keypair is out of use' };
  return { ...step, status: 'warning', says: `It does not sign now. ${step.says}` };
}

function otherStep(verdict: Exclude<Verdict, { kind: 'accepted' | 'refused' }>, version: string): Step {
  const step = { name: 'signature', status: 'failed', code: verdict.kind } as const;
  const says = `GET /v2 is answered with ${verdict.says}.`;
  switch (verdict.kind) {
    case 'version-unsupported':
      return { ...step, says, hint: `The signature is good. Set upstream.version to one it knows, not ${version}.` };
    case 'quota-used-up':
      return { ...step, says, hint: 'Ask for a larger quota, or find who uses it up.' };
    case 'upstream-failed':
      return { ...step, says, hint: 'The failure is the upstream’s: see its log.' };
    case 'not-the-service':
      return { ...step, says, hint: 'Check upstream.endpoints: this does not look like the Service.' };
  }
}

import { type Check, Mismatch, NotApplicable, type Outcome, REACHABLE } from './check.ts';
import { SmokeContext, type SmokeOptions } from './context.ts';
import { shown } from './redact.ts';
import { NoReply } from './wire.ts';

export interface RunOptions {
  /** Told of every outcome as it comes. */
  readonly onOutcome?: (outcome: Outcome) => void;
}

/**
 * Runs the checks one after the other: rate figures that fall by one can be told only when nobody else asks. A check
 * whose prerequisite has failed is skipped, so that one fault is one failure.
 */
export async function runChecks(
  checks: readonly Check[],
  options: SmokeOptions,
  { onOutcome }: RunOptions = {},
): Promise<Outcome[]> {
  const context = new SmokeContext(options);
  const outcomes: Outcome[] = [];
  /** Every check that failed, or was skipped because of one that did, and which one that was. */
  const failed = new Map<string, string>();
  try {
    for (const check of checks) {
      const cause = [REACHABLE, ...(check.after ?? [])].map((id) => failed.get(id)).find((id) => id !== undefined);
      if (cause !== undefined) failed.set(check.id, cause);
      const outcome = await runCheck(check, context, cause);
      if (outcome.status === 'failed') failed.set(check.id, check.id);
      outcomes.push(outcome);
      onOutcome?.(outcome);
    }
  } finally {
    await context.close();
  }
  return outcomes;
}

async function runCheck(check: Check, context: SmokeContext, cause: string | undefined): Promise<Outcome> {
  const skipped = (reason: string): Outcome => ({ check, ms: 0, status: 'skipped', reason });
  if (check.needs === 'inside' && !context.isInside) return skipped('not visible from outside');
  if (cause !== undefined) return skipped(`depends on ${cause}, which failed`);
  const startedAt = performance.now();
  const ms = () => performance.now() - startedAt;
  try {
    await check.run(context);
    return { check, ms: ms(), status: 'passed' };
  } catch (thrown) {
    if (thrown instanceof NotApplicable) return skipped(thrown.message);
    if (thrown instanceof Mismatch) return { check, ms: ms(), status: 'failed', evidence: thrown.evidence };
    if (thrown instanceof NoReply) {
      const evidence = {
        sent: shown(thrown.sent, context.secrets),
        received: `no answer: ${shown(thrown.message, context.secrets)}`,
        expected: 'an answer',
      };
      return { check, ms: ms(), status: 'failed', evidence };
    }
    throw thrown;
  }
}

import type { SmokeContext } from './context.ts';

/** One thing that must hold of a gateway. */
export interface Check {
  /** `group.name`; stable, since CI configurations and reports name it. */
  readonly id: string;
  /** What holds, as a sentence without a full stop. */
  readonly says: string;
  /** Where it is written: `design §5`, `service-api.md §8`. */
  readonly rule: string;
  /** `inside`: it takes an upstream that tells what it received, or a configuration that is known. */
  readonly needs: 'outside' | 'inside';
  /** Checks without which this one would say the same thing again: it is skipped when one of them fails. */
  readonly after?: readonly string[];
  /** Resolves when it holds. Rejects with `Mismatch` when not, with `NotApplicable` when it cannot be told here. */
  readonly run: (context: SmokeContext) => Promise<void>;
}

/** Evidence of a check that does not hold. Texts are as they may be shown: redacted. */
export interface Evidence {
  readonly sent: string;
  readonly received: string;
  readonly expected: string;
}

export class Mismatch extends Error {
  override readonly name = 'Mismatch';
  readonly evidence: Evidence;

  constructor(evidence: Evidence) {
    super(`expected ${evidence.expected}`);
    this.evidence = evidence;
  }
}

/** The gateway under test gives no occasion to check this: a login method it does not offer, a proxy in front. */
export class NotApplicable extends Error {
  override readonly name = 'NotApplicable';
}

/** What became of one check. */
export type Outcome =
  | { readonly check: Check; readonly ms: number; readonly status: 'passed' }
  | { readonly check: Check; readonly ms: number; readonly status: 'failed'; readonly evidence: Evidence }
  | { readonly check: Check; readonly ms: number; readonly status: 'skipped'; readonly reason: string };

/** Every check needs a gateway that answers; this is the one that says so. */
export const REACHABLE = 'edge.livez';
/** Checks that need a cookie come after the one that gets it. */
export const SIGNED_IN = ['session.login'] as const;
/** Checks that need an answer from the upstream come after the plainest of those. */
export const RELAYED = ['session.login', 'service.version'] as const;

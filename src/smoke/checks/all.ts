import type { Check } from '../check.ts';
import { cookieChecks } from './cookie.ts';
import { csrfChecks } from './csrf.ts';
import { edgeChecks } from './edge.ts';
import { graphqlChecks } from './graphql.ts';
import { policyChecks } from './policy.ts';
import { problemChecks } from './problem.ts';
import { rateChecks } from './rate.ts';
import { replyChecks } from './reply.ts';
import { secretChecks } from './secret.ts';
import { serviceChecks } from './service.ts';
import { sessionChecks } from './session.ts';
import { signingChecks } from './signing.ts';
import { targetChecks } from './target.ts';
import { upgradeChecks } from './upgrade.ts';
import { upstreamChecks } from './upstream.ts';

/** Every check, in the order of their running: what others come after goes first, what looks back goes last. */
export const CHECKS: readonly Check[] = [
  ...edgeChecks,
  ...problemChecks,
  ...sessionChecks,
  ...cookieChecks,
  ...csrfChecks,
  ...signingChecks,
  ...upstreamChecks,
  ...serviceChecks,
  ...targetChecks,
  ...rateChecks,
  ...replyChecks,
  ...policyChecks,
  ...graphqlChecks,
  ...upgradeChecks,
  ...secretChecks,
];

import type { Outcome } from './check.ts';
import { countsOf, type Report } from './report.ts';

/**
 * `{ok, subject, startedAt, ms, passed, failed, skipped, checks: [{id, says, rule, needs, status, ms, reason?, sent?,
 * received?, expected?}]}`; milliseconds are whole numbers.
 */
export function jsonReport(report: Report): object {
  const counts = countsOf(report.outcomes);
  return {
    ok: counts.failed === 0,
    subject: report.subject,
    startedAt: new Date(report.startedAt).toISOString(),
    ms: Math.round(report.ms),
    ...counts,
    checks: report.outcomes.map(checkOf),
  };
}

function checkOf(outcome: Outcome): object {
  const { id, says, rule, needs } = outcome.check;
  return {
    id,
    says,
    rule,
    needs,
    status: outcome.status,
    ms: Math.round(outcome.ms),
    ...(outcome.status === 'skipped' && { reason: outcome.reason }),
    ...(outcome.status === 'failed' && outcome.evidence),
  };
}

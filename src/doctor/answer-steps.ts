import type { IncomingHttpHeaders } from 'node:http';
import type { Quota, Step } from './report.ts';

/** Below this share of the limit the quota is worth a word. */
const LOW = 0.1;

/** The rate figures of an answer, and what they say (service-api.md §8). */
export function quotaStep(headers: IncomingHttpHeaders): { step: Step; quota?: Quota } {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) => {
    const value = headers[`x-ratelimit-${name}`];
    return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
  });
  if (limit === undefined || remaining === undefined || reset === undefined) {
    const says = 'The answer lacks X-RateLimit-Limit, -Remaining or -Reset, or they are no integers.';
    const hint = 'Something between here and the Service may drop them; front ends read them.';
    return { step: { name: 'quota', status: 'warning', code: 'rate-headers-missing', says, hint } };
  }
  const quota = { limit, remaining, reset };
  const says = `${remaining} of ${limit} requests left (reset: ${reset}, in the upstream’s own unit)`;
  if (remaining > limit * LOW) return { step: { name: 'quota', status: 'ok', says }, quota };
  const hint = 'Front ends will soon get 429: ask for a larger quota, or find who uses it up.';
  return { step: { name: 'quota', status: 'warning', code: 'quota-low', says, hint }, quota };
}

/** Compares the version that is sent with the Service's latest; both `vX.yyyymmdd` (service-api.md §9). */
export function versionStep(configured: string, latest: string): Step {
  const [ours, theirs] = [versionParts(configured), versionParts(latest)];
  if (theirs === undefined || ours === undefined) {
    const says = `The Service’s latest version is ${JSON.stringify(latest)}, which has not the shape vX.yyyymmdd.`;
    return { name: 'version', status: 'warning', code: 'not-the-service', says, hint: 'Is this the right Service?' };
  }
  const isNewer = ours[0] === theirs[0] ? ours[1] > theirs[1] : ours[0] > theirs[0];
  if (!isNewer) {
    return { name: 'version', status: 'ok', says: `${configured} is sent; the Service’s latest is ${latest}` };
  }
  return {
    name: 'version',
    status: 'warning',
    code: 'version-newer',
    says: `${configured} is sent, which is newer than the Service’s latest, ${latest}.`,
    hint: `Set upstream.version: ${latest}, or an older one.`,
  };
}

function versionParts(text: string): readonly [major: number, release: number] | undefined {
  const match = /^v(\d{1,4})\.(\d{8})$/.exec(text);
  return match === null ? undefined : [Number(match[1]), Number(match[2])];
}

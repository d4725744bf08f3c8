import { printable } from './printable.ts';
import type { SignedAnswer } from './recipe.ts';

/** What the upstream's answer to a signed GET of the version endpoint means. */
export type Verdict =
  | { readonly kind: 'accepted'; readonly version: string }
  /** The signature, or the right to use it, is not good; `says` repeats the answer. */
  | { readonly kind: 'refused'; readonly says: string; readonly status: number }
  | {
      readonly kind: 'version-unsupported' | 'quota-used-up' | 'not-the-service' | 'upstream-failed';
      readonly says: string;
    };

/** The last segment of a problem's type that says the version, not the signature, is refused (design §12). */
const UNSUPPORTED_VERSION = 'unsupported-version';

export function verdictOf({ reply, secrets }: SignedAnswer): Verdict {
  const { status, headers } = reply;
  const body = bodyOf(reply.text);
  const words = ['title', 'detail'].flatMap((key) => (typeof body[key] === 'string' ? [body[key]] : []));
  const says = printable([`${status}`, ...words].join(': '), secrets);
  if (status >= 200 && status < 300) {
    const version = body['version'];
    return typeof version === 'string'
      ? { kind: 'accepted', version: printable(version, secrets) }
      : { kind: 'not-the-service', says: `${says}, but the body is no JSON object with a version` };
  }
  if (String(body['type']).split('/').at(-1) === UNSUPPORTED_VERSION) return { kind: 'version-unsupported', says };
  if (status === 429) return { kind: 'quota-used-up', says: `${says}${retryAfter(headers['retry-after'])}` };
  if (status === 400 || status === 401 || status === 403) return { kind: 'refused', says, status };
  if (status >= 500) return { kind: 'upstream-failed', says };
  const location = headers.location === undefined ? '' : `, to ${printable(headers.location, secrets)}`;
  return { kind: 'not-the-service', says: `${says}${location}` };
}

function bodyOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function retryAfter(value: string | undefined): string {
  return value !== undefined && /^\d+$/.test(value) ? `; it may be tried again in ${value} s` : '';
}

import { Problem } from '../problem.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Throws Problem `csrf` unless a request provably comes from the tenant's own front end or from no browser at all.
 * `headers` are by lowercase name with duplicates joined, as node:http gives them: a joined value equals nothing that is
 * accepted here, so a duplicate is refused.
 *
 * - `Sec-Fetch-Site` present: it must be `same-origin`. `same-site` is foreign: a sibling subdomain may be hostile.
 *   A page with `Referrer-Policy: no-referrer` sends `Origin: null` even to its own origin, so that one passes here.
 * - absent (an old browser): `Origin` must be among the tenant's.
 * - both absent (no browser): `X-Countersign: 1`, which a foreign page cannot add without a CORS preflight.
 */
export function requireSameOrigin(headers: Headers, origins: ReadonlySet<string>): void {
  const site = headers['sec-fetch-site'];
  const origin = headers['origin'];
  if (site !== undefined) {
    if (site !== 'same-origin') throw refused('Sec-Fetch-Site is not same-origin.');
    if (origin !== undefined && origin !== 'null' && !isAmong(origins, origin)) throw refused('The Origin is foreign.');
    return;
  }
  if (origin !== undefined) {
    if (!isAmong(origins, origin)) throw refused('The Origin is foreign.');
    return;
  }
  if (headers['x-countersign'] !== '1') {
    throw refused('A client that sends neither Sec-Fetch-Site nor Origin must send X-Countersign: 1.');
  }
}

function isAmong(origins: ReadonlySet<string>, origin: string | string[]): boolean {
  return typeof origin === 'string' && origins.has(origin);
}

function refused(detail: string): Problem {
  return new Problem('csrf', detail);
}

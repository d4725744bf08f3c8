import { type Check, NotApplicable } from '../check.ts';
import type { SmokeContext } from '../context.ts';
import { type Exchange, member } from '../exchange.ts';

const REQUEST_ID = /^[0-9a-f]{32}$/;
const MEMBERS = ['detail', 'instance', 'status', 'title', 'type'];
export const RATE_HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;

/** Refusals of the gateway of several kinds. What it did not refuse is for another check to say. */
async function refusals(c: SmokeContext): Promise<Exchange[]> {
  const exchanges = [
    await c.nobody.fetch('GET', '/v2'),
    await c.nobody.fetch('GET', '/-/smoke-no-such-path'),
    await c.nobody.fetch('POST', '/-/session', { body: '{}', proof: [['Sec-Fetch-Site', 'cross-site']] }),
    await c.nobody.fetch('POST', '/-/session', { body: '{"method":"smoke"}' }),
  ];
  const refused = exchanges.filter(({ status }) => status >= 400);
  if (refused.length === 0) throw new NotApplicable('nothing was refused');
  return refused;
}

/** Rules of every refusal the gateway makes. */
export const problemChecks: readonly Check[] = [
  {
    id: 'problem.content-type',
    says: 'a refusal is application/problem+json',
    rule: 'design §11; service-api.md §7.2',
    needs: 'outside',
    async run(c) {
      for (const exchange of await refusals(c)) {
        exchange.must(
          exchange.header('content-type') === 'application/problem+json',
          'Content-Type: application/problem+json',
        );
      }
    },
  },
  {
    id: 'problem.shape',
    says: 'a problem has type, title, status, detail and instance, and the instance is the request id',
    rule: 'design §11; service-api.md §7.3',
    needs: 'outside',
    async run(c) {
      for (const exchange of await refusals(c)) {
        const { json } = exchange;
        const members = typeof json === 'object' && json !== null ? Object.keys(json).toSorted() : [];
        exchange.must(members.join() === MEMBERS.join(), `a JSON object of ${MEMBERS.join(', ')}`);
        const isUrl = URL.canParse(String(member(json, 'type')));
        const texts = ['title', 'detail', 'instance'].map((name) => member(json, name));
        exchange.must(
          isUrl && texts.every((text) => typeof text === 'string' && text !== ''),
          'texts, and a URL as type',
        );
        exchange.must(member(json, 'status') === exchange.status, `status ${exchange.status}`);
        const instance = String(member(json, 'instance'));
        exchange.must(
          REQUEST_ID.test(instance) && exchange.header('x-request-id') === instance,
          'an instance of 32 hex digits that X-Request-ID repeats',
        );
      }
    },
  },
  {
    id: 'problem.no-store',
    says: 'no cache keeps a refusal',
    rule: 'design §11',
    needs: 'outside',
    async run(c) {
      for (const exchange of await refusals(c)) {
        exchange.must(exchange.header('cache-control') === 'no-store', 'Cache-Control: no-store');
      }
    },
  },
  {
    id: 'problem.rate-headers',
    says: 'a refusal carries X-RateLimit-* as three integers',
    rule: 'service-api.md §7.5; design §8',
    needs: 'outside',
    async run(c) {
      for (const exchange of await refusals(c)) mustHaveRate(exchange);
    },
  },
  {
    id: 'problem.edge-limit',
    says: 'a refusal speaks of the edge’s own limit in RateLimit and RateLimit-Policy',
    rule: 'design §8',
    needs: 'outside',
    async run(c) {
      for (const exchange of await refusals(c)) {
        const [limit = '', policy = ''] = [exchange.header('ratelimit'), exchange.header('ratelimit-policy')];
        exchange.must(/^"[\w-]+";r=\d+;t=\d+$/.test(limit), 'RateLimit: "name";r=<remaining>;t=<seconds>');
        exchange.must(/^"[\w-]+";q=\d+;w=\d+$/.test(policy), 'RateLimit-Policy: "name";q=<quota>;w=<seconds>');
      }
    },
  },
];

/** Throws a Mismatch unless there are the three rate headers, once each and integers (service-api.md §8). */
export function mustHaveRate(exchange: Exchange): void {
  for (const name of RATE_HEADERS) {
    const values = exchange.headers(name);
    exchange.must(values.length === 1 && /^\d+$/.test(values[0] ?? ''), `one ${name} that is an integer`);
  }
}

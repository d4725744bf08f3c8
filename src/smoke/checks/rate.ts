import { type Check, NotApplicable, RELAYED } from '../check.ts';
import { mustHaveRate } from './problem.ts';

/** Tries on a keypair that others may be using at the same time. */
const TRIES = 5;

/** The Service's rate limit as a front end sees it (service-api.md §8). */
export const rateChecks: readonly Check[] = [
  {
    id: 'rate.headers',
    says: 'a relayed answer carries X-RateLimit-* as three integers',
    rule: 'service-api.md §8; design §8',
    needs: 'outside',
    after: RELAYED,
    async run(c) {
      mustHaveRate(await (await c.user()).fetch('GET', '/v2'));
    },
  },
  {
    id: 'rate.falls',
    says: 'X-RateLimit-Remaining falls by one with each request',
    rule: 'service-api.md §8.1',
    needs: 'outside',
    after: ['rate.headers'],
    async run(c) {
      const user = await c.user();
      let last = await user.fetch('GET', '/v2');
      for (let i = 0; i < TRIES; i++) {
        const next = await user.fetch('GET', '/v2');
        const [before, after] = [last, next].map((exchange) => Number(exchange.header('x-ratelimit-remaining')));
        if (before !== undefined && after === before - 1) return;
        if (c.isInside)
          throw next.mismatch(`X-RateLimit-Remaining: ${(before ?? Number.NaN) - 1}, one less than before`);
        if (after === before) throw next.mismatch(`X-RateLimit-Remaining: less than ${before}`);
        last = next;
      }
      throw new NotApplicable('others use the same keypair at the moment');
    },
  },
  {
    id: 'rate.exhausted',
    says: 'a used-up quota is the Service’s 429, with the rate headers and Retry-After',
    rule: 'service-api.md §7.1, §7.5, §8.2; design §12',
    needs: 'inside',
    after: ['rate.headers', 'problem.rate-headers'],
    async run(c) {
      const user = await c.signIn(c.nobody, c.inside.limited);
      const statuses: number[] = [];
      for (let i = 0; i < 2; i++) statuses.push((await user.fetch('GET', '/v2')).status);
      const exchange = await user.fetch('GET', '/v2');
      exchange.must(statuses.join() === '200,200' && exchange.status === 429, '200, 200, and then 429');
      mustHaveRate(exchange);
      exchange.must(exchange.header('x-ratelimit-remaining') === '0', 'X-RateLimit-Remaining: 0');
      exchange.must(/^\d+$/.test(exchange.header('retry-after') ?? ''), 'Retry-After in seconds');
    },
  },
];

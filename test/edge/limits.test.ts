import fc from 'fast-check';
import { expect, it } from 'vitest';
import { clientAddresses } from '../../src/edge/client-address.ts';
import { type LimitNews, SlidingLimit } from '../../src/edge/limits.ts';

it('never lets more than twice the limit through in any window, nor more than the limit in a burst', () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), gaps, (requests, steps) => {
      const limit = new SlidingLimit({ requests, window: 1000 });
      const allowed: number[] = [];
      let now = 1_000_000;
      for (const step of steps) {
        now += step;
        const standing = limit.take('key', now);
        if (standing.allowed) allowed.push(now);
        expect(standing.remaining).toBeGreaterThanOrEqual(0);
        expect(standing.remaining).toBeLessThan(requests);
        expect(standing.reset).toBe(1);
      }
      for (const at of allowed) {
        expect(allowed.filter((other) => other >= at && other < at + 1000).length).toBeLessThanOrEqual(2 * requests);
        expect(allowed.filter((other) => other === at).length).toBeLessThanOrEqual(requests);
      }
    }),
  );
});

it('is free again after a whole window of silence, and counts each key by itself', () => {
  const limit = new SlidingLimit({ requests: 2, window: 1000 });
  expect([1, 2, 3].map(() => limit.take('a', 0).allowed)).toEqual([true, true, false]);
  expect(limit.take('b', 0).allowed).toBe(true);
  expect(limit.take('a', 2000)).toMatchObject({ allowed: true, remaining: 1 });
});

it('a refused request does not push the end of the wait away', () => {
  const limit = new SlidingLimit({ requests: 1, window: 1000 });
  limit.take('a', 0);
  for (let now = 100; now < 1000; now += 100) expect(limit.take('a', now).allowed).toBe(false);
  expect(limit.take('a', 2000).allowed).toBe(true);
});

it.each([
  ['no proxy is trusted', [], '192.0.2.1', '198.51.100.1', '192.0.2.1'],
  ['the peer is not trusted', ['10.0.0.0/8'], '192.0.2.1', '198.51.100.1', '192.0.2.1'],
  ['the peer is trusted', ['10.0.0.0/8'], '10.1.1.1', '198.51.100.1', '198.51.100.1'],
  [
    'only the last entry was written by somebody trusted',
    ['10.0.0.0/8'],
    '10.1.1.1',
    '1.1.1.1, 198.51.100.1',
    '198.51.100.1',
  ],
  ['a chain of trusted proxies', ['10.0.0.0/8'], '10.1.1.1', '198.51.100.1, 10.2.2.2', '198.51.100.1'],
  ['the chain is trusted to its end', ['10.0.0.0/8'], '10.1.1.1', '10.3.3.3, 10.2.2.2', '10.3.3.3'],
  ['an entry is no address', ['10.0.0.0/8'], '10.1.1.1', '198.51.100.1, evil', '10.1.1.1'],
  ['IPv4 in IPv6', ['10.0.0.0/8'], '::ffff:10.1.1.1', '::ffff:198.51.100.1', '198.51.100.1'],
  ['IPv6', ['fd00::/8'], 'fd00::1', '2001:db8::7', '2001:db8::7'],
  ['a single trusted address', ['10.1.1.1'], '10.1.1.1', '198.51.100.1', '198.51.100.1'],
])('the client’s address where %s', (_name, trusted, remote, forwardedFor, expected) => {
  expect(clientAddresses(trusted).of(remote, forwardedFor)).toBe(expected);
});

it('processes that share a limit exceed it together by a tenth at most, while news travel at once', () => {
  const requests = fc.array(fc.record({ party: fc.nat(7), wait: fc.integer({ min: 0, max: 30 }) }), {
    minLength: 50,
    maxLength: 600,
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 8 }), requests, (most, parties, asked) => {
      const rate = { requests: most, window: 10_000 };
      const hearing: ((news: readonly LimitNews[]) => void)[] = [];
      const limits = Array.from({ length: parties }, (_, me) => {
        const tell = (news: LimitNews) => {
          for (const [other, hear] of hearing.entries()) if (other !== me) hear([news]);
        };
        return new SlidingLimit(rate, 'session', { parties, tell, connect: () => undefined });
      });
      let now = 1_000_000;
      for (const limit of limits) {
        hearing.push((news) => {
          for (const one of news) limit.hear(one, now);
        });
      }
      const alone = new SlidingLimit(rate, 'session', { parties: 1, tell: () => undefined, connect: () => undefined });
      let [together, byOne] = [0, 0];
      for (const { party, wait } of asked) {
        now += wait;
        if (limits[party % parties]?.take('key', now).allowed) together++;
        if (alone.take('key', now).allowed) byOne++;
      }
      // Three windows at most are touched.
      expect(together).toBeLessThanOrEqual(byOne + 3 * (most / 10) + 1);
      expect(together).toBeGreaterThanOrEqual(byOne - 3 * (most / 10) - 1);
    }),
  );
});

it('far from the limit next to nothing is told', () => {
  let told = 0;
  const exchange = { parties: 2, tell: () => void told++, connect: () => undefined };
  const limit = new SlidingLimit({ requests: 6000, window: 60_000 }, 'address', exchange);
  for (let i = 0; i < 1500; i++) limit.take('key', 60_000 + i);
  expect(told).toBe(10);
});

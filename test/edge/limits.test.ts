import fc from 'fast-check';
import { expect, it } from 'vitest';
import { clientAddresses } from '../../src/edge/client-address.ts';
import { SlidingLimit } from '../../src/edge/limits.ts';

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

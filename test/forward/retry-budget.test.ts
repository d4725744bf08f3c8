import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RetryBudget } from '../../src/forward/retry-budget.ts';

const START = Date.UTC(2026, 0, 1);
const SETTINGS = { ratio: 0.2, minimum: 10 };

it('of a thousand requests that all want a retry, a fifth and a few more get one', () => {
  const budget = new RetryBudget();
  let granted = 0;
  for (let i = 0; i < 1000; i++) {
    budget.request(START + i * 5);
    if (budget.take(SETTINGS, START + i * 5)) granted++;
  }
  expect(granted).toBeGreaterThan(200);
  expect(granted).toBeLessThanOrEqual(210);
  expect(budget.totals).toEqual({ sent: granted, denied: 1000 - granted });
});

it('a request now and then gets its retry, and what was spent comes back with time', () => {
  const budget = new RetryBudget();
  const burst = (now: number) => Array.from({ length: 15 }, () => budget.take(SETTINGS, now)).filter(Boolean).length;
  expect(burst(START)).toBe(10);
  expect(burst(START + 1000)).toBe(0);
  expect(burst(START + 20_000)).toBe(10);
});

it('none at all where none is allowed', () => {
  const budget = new RetryBudget();
  for (let i = 0; i < 100; i++) budget.request(START);
  expect(budget.take({ ratio: 0, minimum: 0 }, START)).toBe(false);
});

it('whatever the traffic, retries stay within the budget of two windows that touch', () => {
  const second = fc.record({ requests: fc.nat(200), wanted: fc.nat(200) });
  fc.assert(
    fc.property(fc.array(second, { maxLength: 60 }), (seconds) => {
      const budget = new RetryBudget();
      let now = START;
      const granted: number[] = [];
      for (const { requests, wanted } of seconds) {
        for (let i = 0; i < requests; i++) budget.request(now);
        granted.push(Array.from({ length: wanted }, () => budget.take(SETTINGS, now)).filter(Boolean).length);
        now += 1000;
      }
      for (let i = 0; i < seconds.length; i++) {
        const until = i + 10;
        const sent = granted.slice(i, until).reduce((sum, one) => sum + one, 0);
        const near = seconds.slice(Math.max(0, i - 20), until).reduce((sum, { requests }) => sum + requests, 0);
        expect(sent).toBeLessThanOrEqual(2 * SETTINGS.minimum + SETTINGS.ratio * near);
      }
    }),
  );
});

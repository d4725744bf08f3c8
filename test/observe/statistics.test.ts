import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bucketOf, LATENCY_BUCKETS, quantileOf } from '../../src/observe/latency-scale.ts';
import { openEvent, type RequestEvent } from '../../src/observe/request-event.ts';
import { SecondRing } from '../../src/observe/second-ring.ts';
import { Statistics } from '../../src/observe/statistics.ts';

/** Statistics whose time passes when told, and a way to end requests in them. */
function observed(start = 1_000_000) {
  let now = start;
  const statistics = new Statistics(() => now);
  return {
    statistics,
    pass: (ms: number) => {
      now += ms;
    },
    end: (ms: number, more: Partial<RequestEvent> = {}) => {
      const event = openEvent('id', more.kind ?? 'http', 'GET', '127.0.0.1', 0);
      statistics.request({ ...event, status: 200, tenant: 'acme', ...more, startedMono: now - ms });
    },
  };
}

describe('statistics', () => {
  it('tell apart what went well, what was refused and what failed', () => {
    const { statistics, end, pass } = observed();
    end(5);
    end(5, { status: 304 });
    end(5, { status: 404, code: 'no-route' });
    end(5, { status: 429 });
    end(5, { status: 502, code: 'upstream-unreachable', requestId: 'lost' });
    end(5, { status: 200, aborted: true, reason: 'UPSTREAM_CLOSED', requestId: 'broken' });
    end(5, { status: 200, aborted: true });
    pass(1000);
    const expected = { requests: 7, clientErrors: 2, serverErrors: 2 };
    expect(statistics.recent(10)).toMatchObject(expected);
    expect(statistics.recent(10, 'acme')).toMatchObject(expected);
    expect(statistics.recent(10, 'other')).toMatchObject({ requests: 0, p50: null });
    expect(statistics.totals).toEqual(expected);
    expect(statistics.failures().map(({ requestId }) => requestId)).toEqual(['broken', 'lost']);
    expect(statistics.refusals()).toEqual([
      { code: 'no-route', status: 404, recent: 1, total: 1 },
      { code: 'upstream-unreachable', status: 502, recent: 1, total: 1 },
    ]);
  });

  it('time what somebody waited for, and no connection kept open', () => {
    const { statistics, end, pass } = observed();
    for (let i = 0; i < 100; i++) end(20);
    end(3_600_000, { kind: 'upgrade', status: 101 });
    end(3_600_000, { eventStream: true });
    end(3_600_000, { aborted: true });
    pass(1000);
    expect(statistics.recent(10).p99).toBeGreaterThan(18);
    expect(statistics.recent(10).p99).toBeLessThan(22);
  });

  it('forget what is older than their window', () => {
    const { statistics, end, pass } = observed();
    end(5, { status: 404, code: 'no-route' });
    pass(60_000);
    end(5);
    pass(1000);
    expect(statistics.recent(60)).toMatchObject({ requests: 1, clientErrors: 0 });
    expect(statistics.recent(61)).toMatchObject({ requests: 2, clientErrors: 1 });
    pass(300_000);
    expect(statistics.recent(300)).toMatchObject({ requests: 0 });
    expect(statistics.refusals()).toEqual([{ code: 'no-route', status: 404, recent: 0, total: 1 }]);
    expect(statistics.totals.requests).toBe(2);
  });

  it('draw the last minutes step by step, oldest first', () => {
    const { statistics, end, pass } = observed();
    for (const count of [1, 2, 3]) {
      for (let i = 0; i < count; i++) end(5);
      pass(5000);
    }
    expect(statistics.history(5, 4).map(({ requests }) => requests)).toEqual([0, 1, 2, 3]);
    expect(statistics.history(5, 4, 'acme').map(({ requests }) => requests)).toEqual([0, 1, 2, 3]);
  });

  it('keep the latest failures only', () => {
    const { statistics, end } = observed();
    for (let i = 0; i < 50; i++) end(5, { status: 500, requestId: String(i) });
    expect(statistics.failures()).toHaveLength(8);
    expect(statistics.failures()[0]?.requestId).toBe('49');
  });
});

describe('the latency scale', () => {
  it('finds percentiles within a fifth', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.2, max: 170_000, noNaN: true }), { minLength: 1, maxLength: 300 }),
        fc.constantFrom(0.5, 0.95, 0.99),
        (durations, q) => {
          const counts = new Float64Array(LATENCY_BUCKETS + 3);
          for (const ms of durations) counts[3 + bucketOf(ms)] = (counts[3 + bucketOf(ms)] ?? 0) + 1;
          const sorted = durations.toSorted((a, b) => a - b);
          const exact = sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? 0;
          const found = quantileOf(counts, 3, q) ?? 0;
          expect(found / exact).toBeGreaterThan(0.84);
          expect(found / exact).toBeLessThan(1.19);
        },
      ),
    );
  });

  it('has a place for every duration', () => {
    for (const ms of [-1, 0, 0.05, Number.NaN, 1e9, Number.POSITIVE_INFINITY]) {
      expect(bucketOf(ms)).toBeGreaterThanOrEqual(0);
      expect(bucketOf(ms)).toBeLessThan(LATENCY_BUCKETS);
    }
    expect(quantileOf(new Float64Array(LATENCY_BUCKETS), 0, 0.5)).toBeNull();
  });
});

it('a ring of seconds sums what a list of everything would', () => {
  const steps = fc.array(fc.tuple(fc.nat(7), fc.nat(1)), { maxLength: 60 });
  fc.assert(
    fc.property(steps, fc.nat(12), fc.nat(12), (adds, back, length) => {
      const ring = new SecondRing(10, 2, 100);
      const all: [number, number][] = [];
      let second = 100;
      for (const [pause, column] of adds) {
        second += pause;
        ring.add(second, column);
        all.push([second, column]);
      }
      const from = second - back;
      const until = from + length;
      const kept = all.filter(([at]) => at > second - 10 && at >= from && at < until);
      expect([...ring.sum(from, until)]).toEqual([0, 1].map((column) => kept.filter(([, c]) => c === column).length));
    }),
  );
});

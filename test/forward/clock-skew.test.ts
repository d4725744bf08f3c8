import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClockSkew } from '../../src/forward/clock-skew.ts';

const START = Date.UTC(2026, 0, 1);

/** The Date header a server writes whose clock is `skew` milliseconds ahead, at our instant `now`. */
const dateAt = (now: number, skew: number) => new Date(now + skew).toUTCString();

describe('the clock of an upstream', () => {
  it('is unknown before its first answer, and after one without a readable date', () => {
    const skew = new ClockSkew();
    expect(skew.estimate).toBeUndefined();
    skew.note('yesterday', START, 10);
    expect(skew.estimate).toBeUndefined();
  });

  it('is known to half a second after one answer, and better after more', () => {
    const skew = new ClockSkew();
    skew.note(dateAt(START, 1_200_000), START, 0);
    expect(skew.estimate?.uncertainty).toBe(500);
    for (let i = 1; i < 50; i++) skew.note(dateAt(START + i * 1037, 1_200_000), START + i * 1037, 0);
    expect(skew.estimate?.uncertainty).toBeLessThan(50);
    expect(Math.abs((skew.estimate?.ms ?? 0) - 1_200_000)).toBeLessThan(50);
  });

  it('lies within the stated uncertainty, whatever the delays on the way', () => {
    const exchange = fc.record({ pause: fc.nat(20_000), there: fc.nat(800), back: fc.nat(800) });
    fc.assert(
      fc.property(
        fc.integer({ min: -3_600_000, max: 3_600_000 }),
        fc.array(exchange, { minLength: 1 }),
        (real, exchanges) => {
          const skew = new ClockSkew();
          let now = START;
          for (const { pause, there, back } of exchanges) {
            now += pause;
            skew.note(dateAt(now + there, real), now + there + back, there + back);
            now += there + back;
          }
          const { ms, uncertainty } = skew.estimate ?? { ms: Number.NaN, uncertainty: 0 };
          expect(Math.abs(ms - real)).toBeLessThanOrEqual(uncertainty + 1);
        },
      ),
    );
  });

  it('follows when a clock is set', () => {
    const skew = new ClockSkew();
    for (let i = 0; i < 20; i++) skew.note(dateAt(START + i * 1037, 0), START + i * 1037, 0);
    skew.note(dateAt(START + 30_000, -600_000), START + 30_000, 0);
    expect(Math.abs((skew.estimate?.ms ?? 0) + 600_000)).toBeLessThanOrEqual(500);
  });
});

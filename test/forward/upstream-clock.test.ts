import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ClockState, UpstreamClock } from '../../src/forward/upstream-clock.ts';

const START = Date.UTC(2026, 0, 1);
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

function setUp() {
  const changes: ClockState[] = [];
  const clock = new UpstreamClock((state) => changes.push(state));
  /** An answer received at `now` from a server whose clock is `ahead`, after `elapsed` on the way. */
  const answer = (now: number, ahead: number, { refused = false, elapsed = 10 } = {}) =>
    clock.read({
      date: new Date(now - elapsed / 2 + ahead).toUTCString(),
      receivedAt: now,
      elapsed,
      offset: clock.offset,
      refused,
    });
  return { clock, changes, answer };
}

describe('the offset of signatures', () => {
  it.each([20 * MINUTE, -20 * MINUTE, 31 * SECOND + 600, -HOUR])('is known after one answer: %i ms', (ahead) => {
    const { clock, answer } = setUp();
    answer(START, ahead);
    expect(Math.abs(clock.offset - ahead)).toBeLessThanOrEqual(510);
  });

  it('stays 0 while clocks agree, or while it is not certain that they do not', () => {
    const { clock, changes, answer } = setUp();
    answer(START, 29 * SECOND);
    expect(clock.offset).toBe(0);
    const slow = setUp();
    slow.answer(START, 35 * SECOND, { elapsed: 20 * SECOND });
    expect(slow.clock.offset).toBe(0);
    expect([...changes, ...slow.changes]).toEqual([]);
  });

  it('goes back to 0 when the clock is set right', () => {
    const { clock, changes, answer } = setUp();
    answer(START, 20 * MINUTE);
    answer(START + 2 * SECOND, 0);
    answer(START + 4 * SECOND, 0);
    expect(clock.offset).toBe(0);
    expect(changes).toEqual(['alarm', 'ok']);
  });

  // Between us and the Service there may be boxes that answer by a clock of their own now and then.
  it('is not moved by one date out of line', () => {
    const { clock, changes, answer } = setUp();
    for (let i = 0; i < 20; i++) answer(START + i * 2 * SECOND, i % 4 === 3 ? 3 * HOUR : 0);
    expect(clock.offset).toBe(0);
    expect(changes).toEqual([]);
  });

  it('is moved at once by a date that explains a refusal', () => {
    const { clock, answer } = setUp();
    answer(START, 0);
    expect(answer(START + 10, 20 * MINUTE, { refused: true })).toBe(true);
    expect(Math.abs(clock.offset - 20 * MINUTE)).toBeLessThanOrEqual(510);
    // Signed in its time, the next refusal has another reason.
    expect(answer(START + 20, 20 * MINUTE, { refused: true })).toBe(false);
  });

  // A signature for a day to come could be kept until then.
  it.each([25 * HOUR, 365 * 24 * HOUR, -25 * HOUR])('follows nobody who is %i ms away, but tells', (ahead) => {
    const { clock, changes, answer } = setUp();
    expect(answer(START, ahead, { refused: true })).toBe(false);
    answer(START + 2 * SECOND, ahead);
    expect(clock.offset).toBe(0);
    expect(changes).toEqual(['alarm']);
  });

  it('is not touched by a date that cannot be read', () => {
    const { clock } = setUp();
    expect(clock.read({ date: 'soon', receivedAt: START, elapsed: 1, offset: 0, refused: true })).toBe(false);
    expect(clock.offset).toBe(0);
    expect(clock.isDue(START)).toBe(true);
  });
});

it.each([
  ['30 s', 30 * SECOND, 1],
  ['5 min', 5 * MINUTE, 2],
])('a clock that wanders around %s does not flap', (_, bound, most) => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -4 * SECOND, max: 4 * SECOND }), { maxLength: 80 }), (wander) => {
      const { changes, answer } = setUp();
      for (const [i, by] of wander.entries()) answer(START + i * 2 * SECOND, bound + by, { elapsed: 20 });
      expect(changes.length).toBeLessThanOrEqual(most);
    }),
  );
});

it('the alarm is over when the clock is near again', () => {
  const { changes, answer } = setUp();
  let now = START;
  for (const minutes of [0, 1, 6, 4, 3, 2, 1, 0]) {
    // A date out of line counts from the second on.
    for (let i = 0; i < 2; i++) {
      now += 2 * SECOND;
      answer(now, minutes * MINUTE);
    }
  }
  expect(changes).toEqual(['off', 'alarm', 'off', 'ok']);
});

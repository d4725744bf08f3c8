import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Breaker, type BreakerState } from '../../src/forward/breaker.ts';

const SETTINGS = { failures: 5, ratio: 0.5, volume: 20, open: 1000, longestOpen: 30_000 };
const START = Date.UTC(2026, 0, 1);
const SECOND = 1000;

function setUp() {
  const changes: string[] = [];
  const breaker = new Breaker((from, to) => changes.push(`${from} → ${to}`));
  const attempt = (now: number, outcome: 'succeeds' | 'fails' | 'is abandoned') => {
    const isTrial = breaker.begin(now);
    if (outcome === 'succeeds') breaker.succeeded(isTrial, now);
    else if (outcome === 'fails') breaker.failed(isTrial, true, SETTINGS, now);
    else breaker.abandoned(isTrial);
  };
  const open = (now: number) => {
    for (let i = 0; i < SETTINGS.failures; i++) attempt(now, 'fails');
    expect(breaker.state).toBe('open');
  };
  /** How long after `now` it lets something through again, at the earliest it may. */
  const wait = (now: number) => breaker.admittedFrom(now) - now;
  return { breaker, changes, attempt, open, wait };
}

describe('closed', () => {
  it('opens at the fifth failure in a row and not before; a success begins the count anew', () => {
    const { breaker, changes, attempt } = setUp();
    for (let i = 0; i < 4; i++) attempt(START, 'fails');
    attempt(START, 'succeeds');
    for (let i = 0; i < 4; i++) attempt(START, 'fails');
    expect(breaker.admits(START, false)).toBe(true);
    attempt(START, 'fails');
    expect(breaker.admits(START, false)).toBe(false);
    expect(changes).toEqual(['closed → open']);
  });

  it('opens when half of many attempts fail, none of them in a row', () => {
    const { breaker, attempt } = setUp();
    for (let i = 0; i < 9; i++) {
      attempt(START + i, 'succeeds');
      attempt(START + i, 'fails');
    }
    attempt(START + 9, 'succeeds');
    expect(breaker.state).toBe('closed');
    attempt(START + 10, 'fails');
    expect(breaker.state).toBe('open');
  });

  it('does not add up failures that are long past', () => {
    const { breaker, attempt } = setUp();
    for (let i = 0; i < 40; i++) {
      attempt(START + i * 3 * SECOND, 'succeeds');
      attempt(START + i * 3 * SECOND, 'fails');
    }
    expect(breaker.state).toBe('closed');
  });

  it('is not moved by what clients abandon', () => {
    const { breaker, attempt } = setUp();
    for (let i = 0; i < 1000; i++) attempt(START, 'is abandoned');
    expect(breaker.state).toBe('closed');
  });
});

describe('open', () => {
  it('lets one through when its time is over, and all once that is answered', () => {
    const { breaker, changes, open, wait } = setUp();
    open(START);
    expect(wait(START)).toBeGreaterThanOrEqual(750);
    const later = START + SECOND;
    expect(breaker.admits(later, false)).toBe(true);
    expect(breaker.begin(later)).toBe(true);
    expect(breaker.admits(later, false)).toBe(false);
    breaker.succeeded(true, later);
    expect(breaker.admits(later, false)).toBe(true);
    expect(changes).toEqual(['closed → open', 'open → half-open', 'half-open → closed']);
  });

  it('stays so for twice as long after each trial that fails, up to its longest, and begins anew after a success', () => {
    const { breaker, attempt, open, wait } = setUp();
    open(START);
    let now = START;
    for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
      expect(wait(now)).toBeGreaterThanOrEqual(0.75 * seconds * SECOND);
      expect(wait(now)).toBeLessThanOrEqual(seconds * SECOND);
      now = breaker.admittedFrom(now);
      attempt(now, 'fails');
    }
    now = breaker.admittedFrom(now);
    attempt(now, 'succeeds');
    open(now);
    expect(wait(now)).toBeLessThanOrEqual(SECOND);
  });

  it('does not come back for all at one moment', () => {
    const waits = Array.from({ length: 50 }, () => {
      const { open, wait } = setUp();
      open(START);
      return wait(START);
    });
    expect(new Set(waits).size).toBeGreaterThan(25);
  });

  it('goes on with the next trial when a client abandons one, or one takes long', () => {
    const { breaker, attempt, open } = setUp();
    open(START);
    const later = START + SECOND;
    attempt(later, 'is abandoned');
    expect(breaker.admits(later, false)).toBe(true);
    breaker.begin(later);
    expect(breaker.admits(later + 9 * SECOND, false)).toBe(false);
    expect(breaker.admits(later + 10 * SECOND, false)).toBe(true);
  });

  it('takes no notice of what was sent before', () => {
    const { breaker, open, wait } = setUp();
    open(START);
    const before = wait(START);
    for (let i = 0; i < 100; i++) breaker.failed(false, true, SETTINGS, START + 10);
    breaker.succeeded(false, START + 10);
    expect(breaker.state).toBe('open');
    expect(wait(START)).toBe(before);
    breaker.begin(START + SECOND);
    breaker.failed(false, true, SETTINGS, START + SECOND);
    breaker.succeeded(false, START + SECOND);
    expect(breaker.state).toBe('half-open');
  });

  it('waits for a health check where there is one', () => {
    const { breaker, open } = setUp();
    open(START);
    expect(breaker.admits(START + 1e9, true)).toBe(false);
    breaker.probed(START + 1e9);
    expect(breaker.admits(START + 1e9, true)).toBe(true);
    expect(breaker.begin(START + 1e9)).toBe(true);
  });

  it('does not last for hours because our clock was set back', () => {
    const { breaker, open } = setUp();
    open(START);
    expect(breaker.admits(START - 3600 * SECOND, false)).toBe(true);
  });
});

it('whatever happens: open it admits nothing before its time, half-open one trial in ten seconds, and changes are in order', () => {
  const step = fc.record({
    pause: fc.nat(20_000),
    outcome: fc.constantFrom('succeeds', 'fails', 'hangs'),
    times: fc.integer({ min: 1, max: 12 }),
  });
  const next: Record<BreakerState, readonly BreakerState[]> = {
    closed: ['open'],
    open: ['half-open'],
    'half-open': ['open', 'closed'],
  };
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let trialAt = Number.NEGATIVE_INFINITY;
      let openedAt = Number.NEGATIVE_INFINITY;
      const breaker = new Breaker((from, to, now) => {
        expect(next[from]).toContain(to);
        if (to === 'open') openedAt = now;
        if (to === 'closed') trialAt = Number.NEGATIVE_INFINITY;
        if (to === 'open') trialAt = Number.NEGATIVE_INFINITY;
      });
      let now = START;
      for (const { pause, outcome, times } of steps) {
        now += pause;
        for (let i = 0; i < times; i++) {
          if (!breaker.admits(now, false)) continue;
          const isTrial = breaker.begin(now);
          if (isTrial) {
            expect(now - trialAt).toBeGreaterThanOrEqual(10_000);
            expect(now - openedAt).toBeGreaterThanOrEqual(750);
            trialAt = now;
          }
          if (outcome === 'succeeds') breaker.succeeded(isTrial, now);
          if (outcome === 'fails') breaker.failed(isTrial, true, SETTINGS, now);
        }
      }
    }),
  );
});

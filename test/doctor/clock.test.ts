import { describe, expect, it } from 'vitest';
import { clockStep, skewOf } from '../../src/doctor/clock.ts';
import { spanInWords } from '../../src/doctor/duration.ts';

const NOON = Date.UTC(2026, 2, 15, 12, 0, 0);
const reply = (date: string | undefined, sentAt = NOON, receivedAt = NOON) => ({
  status: 401,
  headers: date === undefined ? {} : { date },
  text: '',
  sentAt,
  receivedAt,
});

describe('the skew of an answer', () => {
  it.each([
    ['RFC 1123', 'Sun, 15 Mar 2026 12:20:00 GMT'],
    ['ISO 8601 basic', '20260315T122000Z'],
    ['ISO 8601 with an offset', '2026-03-15T14:20:00+02:00'],
  ])('is read from a Date in %s', (_, date) => {
    // Date says 12:20:00 for all of that second.
    expect(skewOf(reply(date))).toEqual({ ms: 20 * 60_000 + 500, within: 500 });
  });

  it('is measured at the middle of the exchange, and is no surer than that', () => {
    expect(skewOf(reply('Sun, 15 Mar 2026 12:00:02 GMT', NOON, NOON + 4000))).toEqual({ ms: 500, within: 2500 });
  });

  it.each([[undefined], ['yesterday'], ['Sun, 30 Feb 2026 12:00:00 GMT']])('is unknown for %j', (date) => {
    expect(skewOf(reply(date))).toBeUndefined();
    expect(clockStep(skewOf(reply(date)), []).status).toBe('skipped');
  });
});

describe('the judgement', () => {
  const skew = (ms: number) => ({ ms, within: 500 });
  const at = (...skews: number[]) => skews.map((ms, i) => ({ name: `witness-${i}`, skew: skew(ms) }));

  it.each([
    [0, 'ok'],
    [30_500, 'ok'],
    [-31_000, 'warning'],
    [300_000, 'warning'],
    [300_001, 'failed'],
    [-1_200_000, 'failed'],
  ])('%i ms is %s', (ms, status) => {
    expect(clockStep(skew(ms), []).status).toBe(status);
  });

  it.each([
    ['nobody can tell', [], 'cannot be told'],
    ['one is with us', [100], 'upstream’s that is wrong: witness-0'],
    ['one is with them', [1_190_000], 'this machine’s that is wrong: witness-0'],
    ['one is with each', [0, 1_200_000], 'cannot be told'],
    ['most are with them', [0, 1_200_000, 1_201_000], 'this machine’s that is wrong: witness-1, witness-2'],
    ['one is with neither', [600_000], 'cannot be told'],
  ])('of 20 minutes, when %s', (_, skews, says) => {
    expect(clockStep(skew(1_200_000), at(...skews)).says).toContain(says);
  });
});

it.each([
  [0, '0 s'],
  [-400, '0 s'],
  [1_203_400, '20 min 3 s'],
  [-1_200_000, '20 min'],
  [3_600_000 * 25, '1 day 1 h'],
  [86_400_000 * 40 + 1000, '40 days 1 s'],
])('%i ms are %s', (ms, words) => {
  expect(spanInWords(ms)).toBe(words);
});

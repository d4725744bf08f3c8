import { describe, expect, it } from 'vitest';
import type { Peer } from '../../bench/peer.ts';
import { markdown } from '../../bench/report.ts';
import type { Entry, Outcome } from '../../bench/result.ts';
import { judge } from '../../bench/verdict.ts';
import { get1k } from '../../bench/workloads/get-1k.ts';

const peer = (name: string, required = true): Peer => ({
  name,
  title: name,
  required,
  start: () => Promise.reject(new Error('never started')),
});
const subject = peer('subject');
const reference = peer('reference');
const optional = peer('optional', false);
const contest = { subject, reference, workload: get1k };

const entry = (one: Peer, outcome: Outcome): Entry => ({ peer: one, workload: get1k, outcome });
/** Ten thousand requests a round, at so many CPU-µs each. */
const measured = (...micros: number[]): Outcome => ({
  status: 'measured',
  samples: micros.map((each) => ({ requests: 10_000, seconds: 2, cpuSeconds: each / 100 })),
});

const machine = {
  cpu: 'A CPU',
  cores: 2,
  kernel: '6.1',
  loadBefore: 0.5,
  pinned: { proxy: [0], rest: [1] },
  load: 'wrk' as const,
  upstream: 'nginx' as const,
  versions: { node: '26.0.0' },
};
const report = (entries: Entry[]) =>
  markdown({ machine, rounds: 3, seconds: 2, entries }, reference, judge(entries, contest));

describe('the report', () => {
  it('shows medians, extremes and ratios, the machine, the spread and the target', () => {
    const text = report([entry(subject, measured(50, 60, 55)), entry(reference, measured(100, 110, 105))]);
    expect(text).toContain('| subject | 55.0 (50.0–60.0) | 0.52 | 5000 |');
    expect(text).toContain('| reference | 105.0 (100.0–110.0) | 1.00 | 5000 |');
    expect(text).toContain('A CPU, 2 cores');
    expect(text).toContain('at most 18 % (subject, get-1k)');
    expect(text).toContain('full job / bare http-proxy-3 (GET 1 KB): 0.52 (target ≤ 0.60)');
  });

  it('never drops a peer that could not be measured', () => {
    const text = report([
      entry(subject, { status: 'failed', reason: 'answers 502: a|b\nc' }),
      entry(optional, { status: 'missing', reason: 'nginx is not installed' }),
    ]);
    expect(text).toContain('| subject | failed: answers 502: a\\|b c | | |');
    expect(text).toContain('| optional | missing: nginx is not installed | | |');
    expect(text).toContain('FAILED: subject');
  });
});

describe('the verdict', () => {
  it('passes at the target and not above it', () => {
    const at = (micros: number) => judge([entry(subject, measured(micros)), entry(reference, measured(100))], contest);
    expect(at(60).passed).toBe(true);
    expect(at(61).passed).toBe(false);
  });

  it('fails when a required peer failed, whatever the ratio', () => {
    const good = [entry(subject, measured(10)), entry(reference, measured(100))];
    const failure: Outcome = { status: 'failed', reason: 'gone' };
    expect(judge([...good, entry(peer('other'), failure)], contest)).toMatchObject({
      passed: false,
      failed: ['other'],
    });
    expect(judge([...good, entry(optional, failure)], contest)).toMatchObject({ passed: true, failed: [] });
    expect(judge([...good, entry(peer('other'), { status: 'missing', reason: '' })], contest).passed).toBe(true);
  });

  it('has no ratio without the reference, and fails nothing for that', () => {
    expect(judge([entry(subject, measured(10))], contest)).toEqual({ ratio: undefined, failed: [], passed: true });
  });
});

import { describe, expect, it } from 'vitest';
import type { Peer } from '../../bench/peer.ts';
import { markdown } from '../../bench/report.ts';
import { json } from '../../bench/report-json.ts';
import { svg } from '../../bench/report-svg.ts';
import type { Entry, Outcome, Result } from '../../bench/result.ts';
import { judgeTarget, type Target } from '../../bench/target.ts';
import { judge } from '../../bench/verdict.ts';
import { get1k } from '../../bench/workloads/get-1k.ts';
import { latency } from '../../bench/workloads/latency.ts';

const peer = (name: string, required = true): Peer => ({
  name,
  title: name,
  required,
  start: () => Promise.reject(new Error('never started')),
});
const subject = peer('subject');
const reference = peer('reference');
const optional = peer('optional', false);
const cheap: Target = { subject, reference, workload: get1k, measure: 'cpu', atMost: 0.6 };

const entry = (one: Peer, outcome: Outcome, workload = get1k): Entry => ({ peer: one, workload, outcome });
/** Ten thousand requests a round, at so many CPU-µs each. */
const measured = (...micros: number[]): Outcome => ({
  status: 'measured',
  samples: micros.map((each) => ({ units: 10_000, seconds: 2, cpuSeconds: each / 100, peakRss: each * 1e6 })),
});
const waited = (...p99s: number[]): Outcome => ({
  status: 'measured',
  samples: p99s.map((p99) => ({
    units: 10,
    seconds: 1,
    cpuSeconds: 1,
    peakRss: 1e6,
    latency: { p50: 1, p99, p999: 2 * p99 },
  })),
});

const machine = {
  cpu: 'A <CPU>',
  cores: 2,
  kernel: '6.1',
  loadBefore: 0.5,
  pinned: { proxy: [0], proxies: [0], rest: [1] },
  load: 'wrk' as const,
  upstream: 'nginx' as const,
  versions: { node: '26.0.0' },
};
const resultOf = (entries: Entry[]): Result => {
  return { machine, date: new Date('2026-03-15T01:02:03Z'), rounds: 3, seconds: 2, rate: 4000, entries };
};
const report = (entries: Entry[], targets = [cheap]) =>
  markdown(resultOf(entries), reference, judge(entries, targets, 1));

describe('the report', () => {
  it('shows medians, extremes and ratios, the machine, the spread and the targets', () => {
    const text = report([entry(subject, measured(50, 60, 55)), entry(reference, measured(100, 110, 105))]);
    expect(text).toContain('| subject | 55.0 (50.0–60.0) | 0.52 | 5000 |  | 55 |');
    expect(text).toContain('| reference | 105 (100–110) | 1.00 | 5000 |  | 105 |');
    expect(text).toContain('A <CPU>, 2 cores');
    expect(text).toContain('at most 18 % (subject, get-1k)');
    expect(text).toContain('| get-1k: CPU of subject / reference ≤ 0.60 | 0.52 | met |');
  });

  it('shows how long requests waited, and at which rate they came', () => {
    const text = report([entry(subject, waited(3, 9, 6), latency)]);
    expect(text).toContain('at a fixed rate (open loop): 4000 a second');
    expect(text).toContain('| 1.0 / 6.0 / 12.0 |');
  });

  it('never drops a peer that could not be measured', () => {
    const entries = [
      entry(subject, { status: 'failed', reason: 'answers 502: a|b\nc' }),
      entry(optional, { status: 'missing', reason: 'nginx is not installed' }),
    ];
    const text = report(entries);
    expect(text).toContain('| subject | failed: answers 502: a\\|b c |');
    expect(text).toContain('| optional | missing: nginx is not installed |');
    expect(text).toContain('FAILED: subject');
    expect(text).toContain('| get-1k: CPU of subject / reference ≤ 0.60 |  | not measured: subject is failed |');
    expect(svg(resultOf(entries))).toContain('>missing<');
  });

  it('has the same in JSON', () => {
    const entries = [entry(subject, measured(50, 60, 55)), entry(reference, measured(100, 110, 105))];
    const parsed = JSON.parse(json(resultOf(entries), reference, judge(entries, [cheap], 1)));
    expect(parsed.results[0]).toMatchObject({
      peer: 'subject',
      cpuMicros: { median: 55, min: 50, max: 60 },
      samples: [{ units: 10_000 }, {}, {}],
    });
    expect(parsed.targets).toMatchObject([{ target: 'get-1k: CPU of subject / reference ≤ 0.60', outcome: 'met' }]);
    expect(parsed).toMatchObject({ date: '2026-03-15T01:02:03.000Z', passed: true });
  });

  it('draws bars in proportion, and text that is no markup', () => {
    const drawing = svg(resultOf([entry(subject, measured(25)), entry(reference, measured(100))]));
    const widths = [...drawing.matchAll(/<rect x="\d+" y="\d+" width="([\d.]+)"/g)].map((found) => Number(found[1]));
    expect(widths).toHaveLength(2);
    expect((widths[1] as number) / (widths[0] as number)).toBeCloseTo(4, 1);
    expect(drawing).toContain('A &lt;CPU>');
  });
});

describe('a target', () => {
  const one = (target: Target, entries: Entry[], cpus = 1) => judgeTarget(target, entries, cpus);
  const pair = (micros: number) => [entry(subject, measured(micros)), entry(reference, measured(100))];

  it('is met at its bound and missed beyond it', () => {
    expect(one(cheap, pair(60)).outcome).toBe('met');
    expect(one(cheap, pair(61)).outcome).toBe('missed');
    const fast: Target = { subject, reference, workload: get1k, measure: 'rss', atLeast: 0.5 };
    expect(one(fast, pair(50)).outcome).toBe('met');
    expect(one(fast, pair(49)).outcome).toBe('missed');
  });

  it('compares round with round', () => {
    const entries = [entry(subject, waited(1, 10, 30), latency), entry(reference, waited(2, 10, 20), latency)];
    const target: Target = { subject, reference, workload: latency, measure: 'p99', atMost: 1 };
    expect(one(target, entries)).toMatchObject({ outcome: 'met', value: 1 });
  });

  it('may bound a figure as it stands', () => {
    const target: Target = { subject, workload: get1k, measure: 'rss', atMost: 200 };
    expect(one(target, pair(200))).toMatchObject({ outcome: 'met', value: 200 });
    expect(one(target, pair(201)).outcome).toBe('missed');
  });

  it('says why it was not measured', () => {
    expect(one(cheap, [entry(subject, measured(10))]).why).toBe('reference under get-1k was not asked for');
    const missing = entry(reference, { status: 'missing', reason: '' });
    expect(one(cheap, [entry(subject, measured(10)), missing]).why).toBe('reference is missing');
    expect(one({ ...cheap, cpus: 2 }, pair(10), 1).why).toBe('subject needs 2 CPUs to itself, there are 1');
    expect(one({ ...cheap, cpus: 2 }, pair(10), 2).outcome).toBe('met');
    expect(one({ ...cheap, measure: 'p99' }, pair(10)).why).toBe('get-1k does not tell p99');
  });
});

describe('the verdict', () => {
  const good = [entry(subject, measured(10)), entry(reference, measured(100))];

  it('fails when a target is missed, and not when one could not be measured', () => {
    expect(judge(good, [cheap], 1).passed).toBe(true);
    expect(judge(good, [cheap, { ...cheap, atMost: 0.05 }], 1).passed).toBe(false);
    expect(judge([entry(subject, measured(10))], [cheap], 1).passed).toBe(true);
  });

  it('fails when a required peer failed, whatever the targets', () => {
    const failure: Outcome = { status: 'failed', reason: 'gone' };
    expect(judge([...good, entry(peer('other'), failure)], [cheap], 1)).toMatchObject({
      passed: false,
      failed: ['other'],
    });
    expect(judge([...good, entry(optional, failure)], [cheap], 1)).toMatchObject({ passed: true, failed: [] });
    expect(judge([...good, entry(peer('other'), { status: 'missing', reason: '' })], [cheap], 1).passed).toBe(true);
  });
});

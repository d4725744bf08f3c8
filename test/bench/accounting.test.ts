import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { cpuSecondsOfTree, parseStat, ticksOfTree } from '../../bench/cpu.ts';
import { peakRss, peakRssOfTree, resetPeakRss } from '../../bench/memory.ts';
import { allowedCpus, placesOn } from '../../bench/pinning.ts';
import { latencyOf, pairedRatios, spread, summarize } from '../../bench/statistics.ts';

describe('statistics', () => {
  it('gives the middle value, or the mean of the middle two, and the extremes', () => {
    expect(summarize([9, 1, 5])).toEqual({ median: 5, min: 1, max: 9 });
    expect(summarize([4, 1, 100, 2])).toEqual({ median: 3, min: 1, max: 100 });
    expect(() => summarize([])).toThrow(RangeError);
  });

  it('compares round with round, so that a machine that slows down changes no ratio', () => {
    expect(pairedRatios([5, 50, 500], [10, 100, 1000])).toEqual({ median: 0.5, min: 0.5, max: 0.5 });
    expect(() => pairedRatios([1, 2], [1])).toThrow(RangeError);
  });

  it('takes percentiles from values that were measured, in whatever order they came', () => {
    const thousand = Array.from({ length: 1000 }, (_, index) => 1000 - index);
    expect(latencyOf(thousand)).toEqual({ p50: 500, p99: 990, p999: 999 });
    expect(latencyOf([7])).toEqual({ p50: 7, p99: 7, p999: 7 });
    expect(() => latencyOf([])).toThrow(RangeError);
  });

  it('tells the spread as a share of the median', () => {
    expect(spread({ median: 50, min: 45, max: 60 })).toBe(0.3);
  });
});

describe('CPU accounting', () => {
  const stat = (pid: number, name: string, parent: number, times: string) =>
    `${pid} (${name}) S ${parent} 1 1 0 -1 4194304 100 0 0 0 ${times} 20 0 1 0 100 0 0`;

  it('reads the line of a process whose name looks like fields', () => {
    expect(parseStat(stat(42, 'a) S 7 (b', 1, '10 20 3 4'))).toEqual({ pid: 42, parent: 1, ticks: 37 });
  });

  it('adds up a process and all its descendants, and nobody else', () => {
    const processes = [
      parseStat(stat(10, 'nginx', 1, '1 0 0 0')),
      parseStat(stat(11, 'nginx', 10, '20 0 0 0')),
      parseStat(stat(12, 'helper', 11, '300 0 0 0')),
      parseStat(stat(13, 'stranger', 1, '4000 0 0 0')),
    ];
    expect(ticksOfTree(10, processes)).toBe(321);
    expect(() => ticksOfTree(99, processes)).toThrow(/99/);
  });

  it('sees what a child process burns', async () => {
    const burn = 'const end = process.cpuUsage().user + 3e5; while (process.cpuUsage().user < end); console.log(1)';
    const child = spawn(process.execPath, ['-e', `${burn}; setInterval(() => {}, 1000)`]);
    try {
      await once(child.stdout, 'data');
      expect(cpuSecondsOfTree(child.pid ?? 0)).toBeGreaterThanOrEqual(0.29);
    } finally {
      child.kill('SIGKILL');
    }
  });
});

describe('memory accounting', () => {
  it('reads the peak of a process', () => {
    expect(peakRss('Name:\tnode\nVmPeak:\t 900 kB\nVmHWM:\t    300 kB\nVmRSS:\t 200 kB\n')).toBe(307_200);
    expect(peakRss('Name:\tkthreadd\n')).toBe(0);
  });

  it('sees a peak that is over, and counts from anew once it is told to', async () => {
    const take = 'let some = Buffer.alloc(2e8, 1); some = undefined; gc(); console.log(1)';
    const child = spawn(process.execPath, ['--expose-gc', '-e', `${take}; setInterval(() => {}, 1000)`]);
    const pid = child.pid ?? 0;
    try {
      await once(child.stdout, 'data');
      const peak = peakRssOfTree(pid);
      expect(peak).toBeGreaterThan(2e8);
      resetPeakRss(pid);
      expect(peakRssOfTree(pid)).toBeLessThan(peak - 1e8);
    } finally {
      child.kill('SIGKILL');
    }
  });
});

describe('pinning', () => {
  it('gives two workers two CPUs only where the load keeps as many', () => {
    expect(placesOn([5])).toBeUndefined();
    expect(placesOn([0, 1])).toEqual({ proxy: [0], proxies: [0], rest: [1] });
    expect(placesOn([0, 1, 2])).toEqual({ proxy: [0], proxies: [0], rest: [1, 2] });
    expect(placesOn([0, 1, 2, 3])).toEqual({ proxy: [0], proxies: [0, 1], rest: [2, 3] });
  });

  it('knows the CPUs a container may use', () => {
    expect(allowedCpus('Name:\tnode\nCpus_allowed_list:\t2-4,8\nMems_allowed_list:\t0\n')).toEqual([2, 3, 4, 8]);
    expect(allowedCpus('Cpus_allowed_list:\t0\n')).toEqual([0]);
    expect(allowedCpus('Name:\tnode\n')).toEqual([]);
  });
});

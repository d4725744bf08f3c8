import type { Peer } from './peer.ts';
import { type Entry, figuresOf, type Result } from './result.ts';
import { type Summary, spread } from './statistics.ts';
import { TARGET, type Verdict } from './verdict.ts';
import type { Workload } from './workload.ts';

/** The report as Markdown. */
export function markdown(result: Result, reference: Peer, verdict: Verdict): string {
  const workloads = [...new Set(result.entries.map(({ workload }) => workload))];
  const tables = workloads.map((workload) => tableOf(result.entries, workload, reference));
  return `${[...tables, machineOf(result), spreadOf(result.entries, reference), verdictOf(verdict)].join('\n\n')}\n`;
}

function tableOf(entries: readonly Entry[], workload: Workload, reference: Peer): string {
  const rows = entries.filter((entry) => entry.workload === workload).map((entry) => rowOf(entries, entry, reference));
  return [
    `### ${workload.title}`,
    '',
    `| | CPU-µs/request, median (min–max) | × ${reference.name} | requests/s |`,
    '|---|---|---|---|',
    ...rows,
  ].join('\n');
}

function rowOf(entries: readonly Entry[], entry: Entry, reference: Peer): string {
  const { peer, outcome } = entry;
  const figures = figuresOf(entries, entry, reference);
  if (figures === undefined || outcome.status !== 'measured') {
    const reason = 'reason' in outcome ? outcome.reason.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|') : '';
    return `| ${peer.title} | ${outcome.status}: ${reason} | | |`;
  }
  const { cpuMicros, ratio, rate } = figures;
  const cells = [peer.title, range(cpuMicros, 1), ratio?.median.toFixed(2) ?? 'n/a', Math.round(rate.median)];
  return `| ${cells.join(' | ')} |`;
}

function machineOf({ machine, rounds, seconds }: Result): string {
  const { cpu, cores, kernel, loadBefore, pinned, load, upstream, versions } = machine;
  const places =
    pinned === null
      ? 'nothing pinned: proxy, load and upstream compete'
      : `proxy on CPU ${pinned.proxy.join(',')}, the rest on ${pinned.rest.join(',')}`;
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    `Machine: ${cpu}, ${cores} cores, Linux ${kernel}, load average ${loadBefore.toFixed(2)} before the start; ${places}.`,
    `Versions: ${named.join(', ')}.`,
    `${rounds} × ${seconds} s of each, interleaved; load from ${load}, upstream on ${upstream}. CPU: user + system time of the peer’s process tree. Ratios: median of the rounds’ own.`,
  ].join('\n');
}

/** How far the figures can be trusted: by the entry whose rounds differ most. */
function spreadOf(entries: readonly Entry[], reference: Peer): string {
  const spreads = entries.flatMap((entry) => {
    const figures = figuresOf(entries, entry, reference);
    return figures === undefined ? [] : [{ entry, share: spread(figures.cpuMicros) }];
  });
  const [widest] = spreads.sort((a, b) => b.share - a.share);
  if (widest === undefined) return 'Spread: nothing was measured.';
  const { peer, workload } = widest.entry;
  return `Spread (max − min, of the median): at most ${Math.round(widest.share * 100)} % (${peer.name}, ${workload.name}).`;
}

function verdictOf({ ratio, failed }: Verdict): string {
  const lines = failed.map((name) => `FAILED: ${name}, which the benchmark requires.`);
  const figure = ratio === undefined ? 'not measured' : `${ratio.toFixed(2)} (target ≤ ${TARGET.toFixed(2)})`;
  lines.push(`full job / bare http-proxy-3 (GET 1 KB): ${figure}`);
  return lines.join('\n');
}

function range({ median, min, max }: Summary, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;
}

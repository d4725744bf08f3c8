import type { Peer } from './peer.ts';
import { type Entry, entryOf, type Measure, type Result, ratioOf, summaryOf } from './result.ts';
import { type Summary, spread } from './statistics.ts';
import type { TargetResult } from './target.ts';
import type { Verdict } from './verdict.ts';
import type { Workload } from './workload.ts';

/** The report as Markdown. */
export function markdown(result: Result, reference: Peer, verdict: Verdict): string {
  const workloads = [...new Set(result.entries.map(({ workload }) => workload))];
  const tables = workloads.map((workload) => tableOf(result, workload, reference));
  const parts = [...tables, machineOf(result), spreadOf(result.entries), targetsOf(verdict)];
  return `${parts.join('\n\n')}\n`;
}

function tableOf({ entries, rate }: Result, workload: Workload, reference: Peer): string {
  const rows = entries.filter((entry) => entry.workload === workload).map((entry) => rowOf(entries, entry, reference));
  const title = workload.name === 'latency' ? `${workload.title}: ${rate} a second` : workload.title;
  const { unit } = workload;
  return [
    `### ${title}`,
    '',
    `| | CPU-µs/${unit}, median (min–max) | × ${reference.name} | ${unit}s/s | p50 / p99 / p99.9 ms | peak RSS MB |`,
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

function rowOf(entries: readonly Entry[], entry: Entry, reference: Peer): string {
  const { peer, outcome, workload } = entry;
  const cpu = summaryOf(entry, 'cpu');
  if (outcome.status !== 'measured' || cpu === undefined) {
    const reason = 'reason' in outcome ? outcome.reason.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|') : '';
    return `| ${peer.title} | ${outcome.status}: ${reason} | | | | |`;
  }
  const ratio = ratioOf(entry, entryOf(entries, reference, workload), 'cpu');
  const median = (measure: Measure) => summaryOf(entry, measure)?.median;
  const waits = (['p50', 'p99', 'p999'] as const).map(median);
  const cells = [
    peer.title,
    range(cpu),
    ratio?.median.toFixed(2) ?? 'n/a',
    figure(median('rate') ?? 0),
    waits.includes(undefined) ? '' : waits.map((wait) => wait?.toFixed(1)).join(' / '),
    Math.round(median('rss') ?? 0),
  ];
  return `| ${cells.join(' | ')} |`;
}

function machineOf({ machine, date, rounds, seconds }: Result): string {
  const { cpu, cores, kernel, loadBefore, pinned, load, upstream, versions } = machine;
  const places =
    pinned === null
      ? 'nothing pinned: proxy, load and upstream compete'
      : `proxy on CPU ${pinned.proxy.join(',')} (two workers on ${pinned.proxies.join(',')}), the rest on ${pinned.rest.join(',')}`;
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    `Machine: ${cpu}, ${cores} cores, Linux ${kernel}, load average ${loadBefore.toFixed(2)} before the start at ${date.toISOString()}; ${places}.`,
    `Versions: ${named.join(', ')}.`,
    `${rounds} × ${seconds} s of each, interleaved (idle connections and uploads once); load from ${load}, upstream on ${upstream}. CPU: user + system time of the peer’s process tree. RSS: peaks of its processes, added up. Ratios: median of the rounds’ own.`,
  ].join('\n');
}

/** How far the figures can be trusted: by the entry whose rounds differ most. */
function spreadOf(entries: readonly Entry[]): string {
  const spreads = entries.flatMap((entry) => {
    const cpu = summaryOf(entry, 'cpu');
    return cpu === undefined ? [] : [{ entry, share: spread(cpu) }];
  });
  const [widest] = spreads.sort((a, b) => b.share - a.share);
  if (widest === undefined) return 'Spread: nothing was measured.';
  const { peer, workload } = widest.entry;
  return `Spread of CPU (max − min, of the median): at most ${Math.round(widest.share * 100)} % (${peer.name}, ${workload.name}).`;
}

function targetsOf({ targets, failed }: Verdict): string {
  const lines = failed.map((name) => `FAILED: ${name}, which the benchmark requires.\n`);
  return [...lines, '| target | measured | |', '|---|---|---|', ...targets.map(targetRow)].join('\n');
}

function targetRow(result: TargetResult): string {
  const { outcome, value, why } = result;
  const cells = [titleOf(result), value?.toFixed(2) ?? '', why === undefined ? outcome : `${outcome}: ${why}`];
  return `| ${cells.join(' | ')} |`;
}

const MEASURED: Readonly<Record<Measure, string>> = {
  cpu: 'CPU',
  rate: 'throughput',
  rss: 'peak RSS, MB',
  p50: 'p50',
  p99: 'p99',
  p999: 'p99.9',
};

/** A target in words: `get-1k: CPU of countersign / http-proxy-3 ≤ 0.40`. */
export function titleOf({ target }: TargetResult): string {
  const { subject, reference, workload, measure, atMost, atLeast } = target;
  const whose = reference === undefined ? subject.name : `${subject.name} / ${reference.name}`;
  const bound = atMost === undefined ? `≥ ${atLeast?.toFixed(2)}` : `≤ ${atMost.toFixed(2)}`;
  return `${workload.name}: ${MEASURED[measure]} of ${whose} ${bound}`;
}

function range({ median, min, max }: Summary): string {
  return `${figure(median)} (${figure(min)}–${figure(max)})`;
}

/** Three figures or more: nothing here is more exact. */
function figure(value: number): string {
  return value >= 100 ? `${Math.round(value)}` : value.toFixed(1);
}

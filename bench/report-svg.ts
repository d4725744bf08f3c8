import { type Entry, type Result, summaryOf } from './result.ts';

const WIDTH = 900;
/** Where the bars begin, and how long the longest is. */
const LEFT = 380;
const LONGEST = WIDTH - LEFT - 150;
const ROW = 22;
const TITLE = 44;
const MARGIN = 24;
const COLOURS = { ours: '#0f766e', theirs: '#94a3b8', text: '#0f172a', faint: '#64748b' };

/** The CPU figures as a bar chart, a group for each workload, as SVG. Shorter is better. */
export function svg({ entries, machine, date }: Result): string {
  const workloads = [...new Set(entries.map(({ workload }) => workload))];
  let y = MARGIN + TITLE;
  const groups = workloads.map((workload) => {
    const group = groupOf(
      entries.filter((entry) => entry.workload === workload),
      y,
    );
    y += group.height;
    return group.drawing;
  });
  const height = y + MARGIN;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="${COLOURS.text}">
<title>CPU time per unit of work, Countersign and its peers</title>
<rect width="100%" height="100%" fill="#ffffff"/>
${label(MARGIN, MARGIN + 8, 'CPU time per unit of work: median, and the range of the rounds', 'font-size="16" font-weight="600"')}
${label(MARGIN, MARGIN + 28, `${machine.cpu}, ${date.toISOString().slice(0, 10)}. Shorter is better.`, `fill="${COLOURS.faint}"`)}
${groups.join('\n')}
</svg>
`;
}

function groupOf(entries: readonly Entry[], top: number): { drawing: string; height: number } {
  const { workload } = entries[0] as Entry;
  const most = Math.max(...entries.map((entry) => summaryOf(entry, 'cpu')?.max ?? 0), Number.MIN_VALUE);
  const rows = entries.map((entry, index) => rowOf(entry, top + TITLE + index * ROW, LONGEST / most));
  const title = label(MARGIN, top + TITLE - 14, `${workload.title}: CPU-µs per ${workload.unit}`, 'font-weight="600"');
  return { drawing: [title, ...rows].join('\n'), height: TITLE + entries.length * ROW };
}

function rowOf(entry: Entry, y: number, scale: number): string {
  const cpu = summaryOf(entry, 'cpu');
  const name = label(LEFT - 10, y + 13, entry.peer.title, 'text-anchor="end"');
  if (cpu === undefined) return name + label(LEFT, y + 13, entry.outcome.status, `fill="${COLOURS.faint}"`);
  const colour = entry.peer.name.startsWith('countersign') ? COLOURS.ours : COLOURS.theirs;
  const [from, width, to] = [cpu.min, cpu.median, cpu.max].map((value) => Number((value * scale).toFixed(1))) as [
    number,
    number,
    number,
  ];
  const middle = y + 9;
  return [
    name,
    `<rect x="${LEFT}" y="${y + 2}" width="${width}" height="14" fill="${colour}"/>`,
    `<path d="M${LEFT + from} ${middle}H${LEFT + to}" stroke="${COLOURS.text}"/>`,
    label(LEFT + to + 8, y + 13, cpu.median < 100 ? cpu.median.toFixed(1) : `${Math.round(cpu.median)}`, ''),
  ].join('');
}

function label(x: number, y: number, text: string, attributes: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${x}" y="${y}" ${attributes}>${escaped}</text>`;
}

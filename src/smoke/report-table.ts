import type { Outcome } from './check.ts';
import { countsOf, type Report } from './report.ts';

const MARKS = { passed: 'ok', failed: 'FAILED', skipped: 'skipped' } as const;
const COLOURS = { passed: 32, failed: 31, skipped: 33 } as const;
/** Widest id, so that rows can be written as they come. */
const ID_WIDTH = 30;

/** One row of the table; under a failure, what was sent, what came back, what was expected and where that is written. */
export function tableRow(outcome: Outcome, colour: boolean): string {
  const { id, says, rule } = outcome.check;
  const mark = MARKS[outcome.status].padEnd(8);
  const painted = colour ? `\x1b[${COLOURS[outcome.status]}m${mark}\x1b[0m` : mark;
  const row = `${painted}${id.padEnd(ID_WIDTH)}${says}\n`;
  if (outcome.status === 'skipped') return `${row}${indented(`skipped: ${outcome.reason}`, 8)}`;
  if (outcome.status === 'passed') return row;
  const { sent, received, expected } = outcome.evidence;
  return [
    row,
    indented(`expected  ${expected}`, 8),
    indented(`rule      ${rule}`, 8),
    indented('sent', 8),
    indented(sent, 10),
    indented('received', 8),
    indented(received, 10),
  ].join('');
}

/** The last line of the table. */
export function tableSummary(report: Report): string {
  const { passed, failed, skipped } = countsOf(report.outcomes);
  const verdict = failed === 0 ? 'holds' : 'does not hold';
  const seconds = (report.ms / 1000).toFixed(1);
  return `\n${report.subject} ${verdict}: ${passed} passed, ${failed} failed, ${skipped} skipped in ${seconds} s\n`;
}

function indented(text: string, width: number): string {
  const margin = ' '.repeat(width);
  return `${text
    .split('\n')
    .map((line) => `${margin}${line}`.trimEnd())
    .join('\n')}\n`;
}

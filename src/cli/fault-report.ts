import { styleText } from 'node:util';
import { type Fault, placeOf } from '../config/fault.ts';
import type { Terminal } from './command.ts';

/** Whether a stream shows colours: it is a terminal, and nobody has said no (https://no-color.org). */
export function isColoured(stream: NodeJS.WritableStream, env: Terminal['env']): boolean {
  return 'isTTY' in stream && stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}

/** One block for each fault and each warning, with an empty line behind it; empty when there are none. */
export function renderFaults(faults: readonly Fault[], warnings: readonly Fault[], coloured: boolean): string {
  const style = (format: Parameters<typeof styleText>[0], text: string) =>
    coloured ? styleText(format, text, { validateStream: false }) : text;
  const block = (raw: Fault, word: string) => {
    const fault = printable(raw);
    return [
      `${word} ${style('bold', placeOf(fault))}${fault.path === '' ? '' : `  ${fault.path}`}`,
      `  ${fault.message}`,
      ...(fault.found === undefined ? [] : [`  found:    ${fault.found}`]),
      // "expected …" as the message says it already.
      ...(fault.expected === undefined || fault.message === `expected ${fault.expected}`
        ? []
        : [`  expected: ${fault.expected}`]),
      ...(fault.hint === undefined ? [] : [`  ${style('cyan', 'hint:')}     ${fault.hint}`]),
    ];
  };
  const blocks = [
    ...faults.map((fault) => block(fault, style('red', 'fault'))),
    ...warnings.map((fault) => block(fault, style('yellow', 'warning'))),
  ];
  return blocks.map((lines) => `${lines.join('\n')}\n\n`).join('');
}

/** A key of the file may have control characters in it, which a terminal would obey. */
function printable(fault: Fault): Fault {
  const entries = Object.entries(fault).map(([key, value]) => [
    key,
    typeof value === 'string' ? value.replace(/\p{Cc}/gu, '\u{fffd}') : value,
  ]);
  return Object.fromEntries(entries);
}

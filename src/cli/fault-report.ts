import { type Fault, placeOf } from '../config/fault.ts';
import type { Style } from './style.ts';

/** One block for each fault and each warning, with an empty line behind it; empty when there are none. */
export function renderFaults(faults: readonly Fault[], warnings: readonly Fault[], style: Style): string {
  const block = (raw: Fault, word: string) => {
    const fault = printable(raw);
    return [
      `${word} ${style.bold(placeOf(fault))}${fault.path === '' ? '' : `  ${fault.path}`}`,
      `  ${fault.message}`,
      ...(fault.found === undefined ? [] : [`  found:    ${fault.found}`]),
      // "expected …" as the message says it already.
      ...(fault.expected === undefined || fault.message === `expected ${fault.expected}`
        ? []
        : [`  expected: ${fault.expected}`]),
      ...(fault.hint === undefined ? [] : [`  ${style.bold('hint:')}     ${fault.hint}`]),
    ];
  };
  const blocks = [
    ...faults.map((fault) => block(fault, style.bad('fault'))),
    ...warnings.map((fault) => block(fault, style.warning('warning'))),
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

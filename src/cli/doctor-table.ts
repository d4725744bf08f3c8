import {
  type EndpointReport,
  type ExplainedLine,
  findingsOf,
  type KeypairReport,
  type Step,
  type TenantReport,
} from '../doctor/report.ts';
import type { Style } from './style.ts';

const LABEL = 14;
const MARK = 5;

/** The report for human eyes, `columns` wide. */
export function doctorTable(tenants: readonly TenantReport[], style: Style, columns: number): string {
  const lines = tenants.flatMap(({ tenant, endpoints }) =>
    endpoints.flatMap((endpoint) => [
      `${style.bold(tenant)}  ${endpoint.endpoint}`,
      ...endpointLines(endpoint, style, columns),
      '',
    ]),
  );
  return `${[...lines, summary(tenants, style)].join('\n')}\n`;
}

function endpointLines({ steps, keypairs }: EndpointReport, style: Style, columns: number): string[] {
  return [
    ...steps.flatMap((step) => stepLines(step, 2, style, columns)),
    ...keypairs.flatMap((keypair) => keypairLines(keypair, style, columns)),
  ];
}

function keypairLines(
  { role, accessKey, state, current, steps, stringToSign = [] }: KeypairReport,
  style: Style,
  columns: number,
): string[] {
  return [
    `  ${style.bold(role)}  ${accessKey}${current ? '' : style.dim(`  ${state}, does not sign now`)}`,
    ...steps.flatMap((step) => stepLines(step, 4, style, columns)),
    ...(stringToSign.length > 0 ? explanationLines(stringToSign, style) : []),
  ];
}

function stepLines({ name, status, says, hint }: Step, indent: number, style: Style, columns: number): string[] {
  const mark = {
    ok: style.good('ok'.padEnd(MARK)),
    warning: style.warning('warn'.padEnd(MARK)),
    failed: style.bad('FAIL'.padEnd(MARK)),
    skipped: style.dim('-'.padEnd(MARK)),
  }[status];
  const margin = ' '.repeat(indent + MARK + LABEL);
  const width = Math.max(20, columns - margin.length);
  const [first = '', ...rest] = wrap(says, width);
  return [
    `${' '.repeat(indent)}${mark}${name.padEnd(LABEL)}${first}`,
    ...rest.map((line) => margin + line),
    ...(hint === undefined ? [] : wrap(`→ ${hint}`, width).map((line) => margin + style.bold(line))),
  ];
}

/** Seven lines that are joined by one newline (service-api.md §5), then what else the signature is made of. */
function explanationLines(explained: readonly ExplainedLine[], style: Style): string[] {
  const widest = Math.max(...explained.map(({ value }) => Math.min(JSON.stringify(value).length, 50)));
  const lines = explained.map(
    ({ name, value, from }) => `      ${name.padEnd(LABEL)}${JSON.stringify(value).padEnd(widest)}  ${style.dim(from)}`,
  );
  return [
    '    The string to sign, its lines joined by one LF:',
    ...lines.slice(0, 7),
    '    Made into a signature with:',
    ...lines.slice(7),
  ];
}

function summary(tenants: readonly TenantReport[], style: Style): string {
  const findings = findingsOf(tenants);
  const failures = findings.filter(({ status }) => status === 'failed').length;
  const warnings = findings.length - failures;
  const count = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`;
  const said = [
    ...(failures > 0 ? [style.bad(count(failures, 'finding'))] : []),
    ...(warnings > 0 ? [style.warning(count(warnings, 'warning'))] : []),
  ];
  return said.length > 0 ? said.join(', ') : style.good('All is well.');
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}

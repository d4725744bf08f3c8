import type { Outcome } from './check.ts';
import { countsOf, type Report } from './report.ts';

/** What XML 1.0 cannot hold in any spelling: control characters, lone surrogates, two noncharacters. */
const NOT_XML = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

/** JUnit XML as CI systems read it: one suite for each group of checks. */
export function junitReport(report: Report): string {
  const groups = Map.groupBy(report.outcomes, ({ check }) => check.id.split('.', 1)[0] ?? '');
  const suites = [...groups].map(([group, outcomes]) => suiteOf(group, outcomes, report.startedAt));
  const attributes = totals('countersign smoke', report.outcomes, report.ms);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites${attributes}>\n${suites.join('')}</testsuites>\n`;
}

function suiteOf(group: string, outcomes: readonly Outcome[], startedAt: number): string {
  const ms = outcomes.reduce((sum, outcome) => sum + outcome.ms, 0);
  const timestamp = new Date(startedAt).toISOString().slice(0, 19);
  const head = `${totals(group, outcomes, ms)} errors="0" timestamp="${timestamp}"`;
  return `  <testsuite${head}>\n${outcomes.map(caseOf).join('')}  </testsuite>\n`;
}

function totals(name: string, outcomes: readonly Outcome[], ms: number): string {
  const { failed, skipped } = countsOf(outcomes);
  const counts = `tests="${outcomes.length}" failures="${failed}" skipped="${skipped}"`;
  return ` name="${attribute(name)}" ${counts} time="${seconds(ms)}"`;
}

function caseOf(outcome: Outcome): string {
  const { id, says } = outcome.check;
  const head = `    <testcase classname="countersign.smoke.${attribute(id.split('.', 1)[0] ?? '')}" name="${attribute(`${id}: ${says}`)}" time="${seconds(outcome.ms)}"`;
  if (outcome.status === 'passed') return `${head}/>\n`;
  return `${head}>\n      ${detailOf(outcome)}\n    </testcase>\n`;
}

function detailOf(outcome: Exclude<Outcome, { status: 'passed' }>): string {
  if (outcome.status === 'skipped') return `<skipped message="${attribute(outcome.reason)}"/>`;
  const { sent, received, expected } = outcome.evidence;
  const text = `expected: ${expected}\nrule: ${outcome.check.rule}\n\nsent:\n${sent}\n\nreceived:\n${received}\n`;
  return `<failure type="${attribute(outcome.check.id)}" message="${attribute(`expected ${expected}`)}">${content(text)}</failure>`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function content(text: string): string {
  return text.replace(NOT_XML, '\ufffd').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** A line end in an attribute would be read as a space. */
function attribute(text: string): string {
  return content(text)
    .replaceAll('"', '&quot;')
    .replaceAll('\t', '&#9;')
    .replaceAll('\n', '&#10;')
    .replaceAll('\r', '&#13;');
}

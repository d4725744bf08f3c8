import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/smoke/check.ts';
import { jsonReport } from '../../src/smoke/report-json.ts';
import { junitReport } from '../../src/smoke/report-junit.ts';
import { tableRow, tableSummary } from '../../src/smoke/report-table.ts';
import { parseXml } from './xml.ts';

const check = (id: string) => ({
  id,
  says: `says "${id}" <& more>`,
  rule: 'design §5',
  needs: 'outside' as const,
  run: async () => undefined,
});
const HOSTILE = 'GET /?a=<b>&c="d" HTTP/1.1\nX: \x00\x1b\ud800]]>\t\u{1f600}';
const evidence = { sent: HOSTILE, received: 'HTTP/1.1 200 OK', expected: 'a "403" & <no> more\nlines' };
const OUTCOMES: readonly Outcome[] = [
  { check: check('cookie.one'), ms: 12.4, status: 'passed' },
  { check: check('cookie.two'), ms: 1, status: 'failed', evidence },
  { check: check('rate.one'), ms: 0, status: 'skipped', reason: 'not visible from outside' },
];
const REPORT = { subject: 'a gateway', startedAt: Date.UTC(2026, 0, 2, 3, 4, 5), ms: 1234.5, outcomes: OUTCOMES };

describe('JUnit XML', () => {
  const root = parseXml(junitReport(REPORT));

  it('is well-formed, one suite for each group, with counts that agree', () => {
    expect(root).toMatchObject({
      name: 'testsuites',
      attributes: { tests: '3', failures: '1', skipped: '1', time: '1.234' },
    });
    expect(root.children.map(({ name, attributes }) => [name, attributes])).toMatchObject([
      [
        'testsuite',
        { name: 'cookie', tests: '2', failures: '1', skipped: '0', errors: '0', timestamp: '2026-01-02T03:04:05' },
      ],
      ['testsuite', { name: 'rate', tests: '1', failures: '0', skipped: '1' }],
    ]);
  });

  it('has each check as a case, its failure and the reason it was skipped', () => {
    const [cookie, rate] = root.children;
    expect(cookie?.children[0]).toMatchObject({
      name: 'testcase',
      attributes: {
        classname: 'countersign.smoke.cookie',
        name: 'cookie.one: says "cookie.one" <& more>',
        time: '0.012',
      },
      children: [],
    });
    const failure = cookie?.children[1]?.children[0];
    expect(failure).toMatchObject({
      name: 'failure',
      attributes: { type: 'cookie.two', message: 'expected a "403" & <no> more\nlines' },
    });
    expect(failure?.text).toContain('rule: design §5');
    expect(rate?.children[0]?.children[0]).toMatchObject({
      name: 'skipped',
      attributes: { message: 'not visible from outside' },
    });
  });

  it('gives back hostile bytes as they were, and what XML cannot hold as U+FFFD', () => {
    const failure = root.children[0]?.children[1]?.children[0];
    expect(failure?.text).toContain('GET /?a=<b>&c="d" HTTP/1.1\nX: \ufffd\ufffd\ufffd]]>\t\u{1f600}');
  });
});

it('JSON says of each check what became of it and why', () => {
  expect(JSON.parse(JSON.stringify(jsonReport(REPORT)))).toMatchObject({
    ok: false,
    subject: 'a gateway',
    startedAt: '2026-01-02T03:04:05.000Z',
    ms: 1235,
    passed: 1,
    failed: 1,
    skipped: 1,
    checks: [
      { id: 'cookie.one', status: 'passed', needs: 'outside', rule: 'design §5' },
      { id: 'cookie.two', status: 'failed', ...JSON.parse(JSON.stringify(evidence)) },
      { id: 'rate.one', status: 'skipped', reason: 'not visible from outside' },
    ],
  });
  expect(jsonReport({ ...REPORT, outcomes: OUTCOMES.slice(0, 1) })).toMatchObject({ ok: true });
});

describe('the table', () => {
  const [passed, failed, skipped] = OUTCOMES as [Outcome, Outcome, Outcome];

  it('says under a failure what was sent, what came back, what was expected, and which rule', () => {
    const text = tableRow(failed, false);
    expect(text).toMatch(/^FAILED {2}cookie\.two /);
    for (const part of [
      'expected  a "403"',
      'rule      design §5',
      'sent\n          GET /',
      'received\n          HTTP/1.1 200',
    ]) {
      expect(text).toContain(part);
    }
  });

  it('has colours only when asked', () => {
    expect(tableRow(passed, true)).toContain('\x1b[32m');
    expect(tableRow(passed, false)).not.toContain('\x1b[');
    expect(tableRow(skipped, false)).toContain('skipped: not visible from outside');
  });

  it('ends with the counts', () => {
    expect(tableSummary(REPORT)).toBe('\na gateway does not hold: 1 passed, 1 failed, 1 skipped in 1.2 s\n');
  });
});

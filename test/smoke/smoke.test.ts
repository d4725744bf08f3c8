import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHECKS } from '../../src/smoke/checks/all.ts';
import { CliProcess, cli } from '../kit/cli.ts';
import { type Demo, startDemo } from '../kit/demo.ts';
import { freePort } from '../kit/free-port.ts';
import { parseXml } from './xml.ts';

interface Report {
  readonly ok: boolean;
  readonly ms: number;
  readonly checks: readonly {
    readonly id: string;
    readonly needs: string;
    readonly status: string;
    readonly reason?: string;
  }[];
}

const INSIDE = CHECKS.filter(({ needs }) => needs === 'inside').map(({ id }) => id);

function reportOf(stdout: string) {
  const report = JSON.parse(stdout) as Report;
  const having = (status: string) => report.checks.filter((check) => check.status === status);
  const skipped = Object.fromEntries(having('skipped').map(({ id, reason }) => [id, reason]));
  return { report, failed: having('failed').map(({ id }) => id), skipped };
}

it('without arguments: everything holds, nothing is skipped, in under 10 s with the start of the process', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-junit-'));
  const junit = join(folder, 'smoke.xml');
  const startedAt = performance.now();
  const smoke = new CliProcess(['smoke', '--junit', junit]);
  expect(await smoke.exited()).toBe(0);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
  expect(smoke.stdout).toContain(`a gateway of this version holds: ${CHECKS.length} passed, 0 failed, 0 skipped`);
  expect(smoke.stdout).not.toContain('\x1b[');
  expect(smoke.stderr).toBe('');
  const { attributes } = parseXml(readFileSync(junit, 'utf8'));
  expect(attributes).toMatchObject({ tests: String(CHECKS.length), failures: '0', skipped: '0' });
  rmSync(folder, { recursive: true });
});

describe('--url, against the demo as npm start runs it', () => {
  let demo: Demo;
  beforeAll(async () => {
    demo = await startDemo();
  });
  afterAll(() => demo.stop());

  it('holds as a visitor; what cannot be seen from outside is skipped and says so', async () => {
    const { code, stdout } = await cli(['smoke', '--url', demo.origin, '--tenant', 'demo', '--json']);
    const { report, failed, skipped } = reportOf(stdout);
    expect(failed).toEqual([]);
    expect([code, report.ok]).toEqual([0, true]);
    const invisible = Object.keys(skipped).filter((id) => skipped[id] === 'not visible from outside');
    expect(invisible).toEqual(INSIDE);
    expect(Object.keys(skipped).filter((id) => !INSIDE.includes(id))).toEqual(['graphql.groups']);
  });

  it('leaves no session and no group behind, with --mutations and an administrator too', async () => {
    const login = ['--login', 'password', '--username', 'admin', '--password-env', 'SMOKE_PASSWORD', '--mutations'];
    const smoke = new CliProcess(['smoke', '--url', demo.origin, ...login, '--json'], {
      SMOKE_PASSWORD: 'countersign-demo',
    });
    expect(await smoke.exited()).toBe(0);
    const { failed, skipped } = reportOf(smoke.stdout);
    expect(failed).toEqual([]);
    expect(skipped).not.toHaveProperty('graphql.groups');
    expect(smoke.stdout + smoke.stderr).not.toContain('countersign-demo');

    const headers = { 'Content-Type': 'application/json', 'X-Countersign': '1' };
    const body = JSON.stringify({ method: 'password', username: 'admin', password: 'countersign-demo' });
    const signedIn = await fetch(`${demo.origin}/-/session`, { method: 'POST', headers, body });
    const Cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const { sessions } = (await (await fetch(`${demo.origin}/-/sessions`, { headers: { Cookie } })).json()) as {
      sessions: object[];
    };
    expect(sessions).toHaveLength(1);
    const groups = await fetch(`${demo.origin}/v2/admin/gql`, {
      method: 'POST',
      headers: { ...headers, Cookie },
      body: '{"query":"{ groups { name } }"}',
    });
    expect(await groups.json()).toEqual({ data: { groups: [] } });
  });

  it('without a session checks what anybody can see', async () => {
    const { code, stdout } = await cli(['smoke', '--url', demo.origin, '--login', 'none', '--json']);
    const { failed, skipped } = reportOf(stdout);
    expect([code, failed]).toEqual([0, []]);
    expect(skipped['session.login']).toBe('needs a session: --login none was given');
    expect(skipped).not.toHaveProperty('problem.shape');
  });

  it('says that the Host is another tenant’s: exit 1, sent, received, expected and rule on the table', async () => {
    const { code, stdout } = await cli(['smoke', '--url', demo.origin, '--tenant', 'acme', '--only', 'edge.tenant']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^FAILED {2}edge\.tenant/);
    for (const part of [
      'expected  the tenant acme',
      'rule      design §',
      'GET /-/session HTTP/1.1',
      'HTTP/1.1 200 OK',
    ]) {
      expect(stdout).toContain(part);
    }
  });
});

it('a gateway that is not there: one failure, the rest depends on it', async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const { code, stdout } = await cli(['smoke', '--url', url, '--json']);
  const { failed, skipped } = reportOf(stdout);
  expect([code, failed]).toEqual([1, ['edge.livez']]);
  expect(stdout).toContain('ECONNREFUSED');
  expect(skipped['cookie.http-only']).toBe('depends on edge.livez, which failed');
});

it('without a folder for temporary files: one line, exit 2', async () => {
  const smoke = new CliProcess(['smoke'], { TMPDIR: '/no/such/folder' });
  expect(await smoke.exited()).toBe(2);
  expect(smoke.stderr).toMatch(
    /^countersign smoke: no temporary folder can be made \(\/no\/such\/folder.*ENOENT\).*TMPDIR.*\n$/,
  );
});

it('--list shows every check and runs none; --only picks checks and whole groups, in their order', async () => {
  const { code, stdout } = await cli(['smoke', '--list']);
  expect([code, stdout.trim().split('\n').length]).toEqual([0, CHECKS.length]);
  const some = await cli(['smoke', '--list', '--only', 'rate.falls,edge.livez', 'csrf']);
  expect(
    some.stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' ')[0]),
  ).toEqual(['edge.livez', 'csrf.session', 'csrf.routes', 'csrf.own', 'rate.falls']);
});

describe('a mistake gets one line and exit 2', () => {
  it.each([
    [['nonsense'], 'no argument nonsense'],
    [['--only', 'nonsense'], 'no check "nonsense"'],
    [['--tenant', 'acme'], '--tenant goes with --url'],
    [['--mutations'], '--mutations goes with --url'],
    [['--url', 'console.acme.example'], '--url must be an http or https URL'],
    [['--url', 'ftp://a.example'], '--url must be'],
    [['--url', 'http://user@a.example'], '--url must be'],
    [['--url', 'http://a.example', '--login', 'oidc'], '--login must be visitor, password or none'],
    [['--url', 'http://a.example', '--login', 'password'], '--login password needs --username and --password-env'],
    [['--url', 'http://a.example', '--username', 'ada'], 'go with --login password'],
    [
      ['--url', 'http://a.example', '--login', 'password', '--username', 'a', '--password-env', 'UNSET'],
      'UNSET is not set',
    ],
    [['--junit', '/no/such/folder/smoke.xml'], 'cannot write the report /no/such/folder/smoke.xml: ENOENT'],
  ])('%j', async (args, message) => {
    const { code, stdout, stderr } = await cli(['smoke', ...args]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});

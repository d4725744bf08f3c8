import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { folderOf } from '../config/fixture.ts';
import { configFile, startUpstream } from '../doctor/upstream.ts';
import { cli } from '../kit/cli.ts';

/** Runs with stdout and stderr being terminals of 80 columns, or not. */
async function onTerminal(args: readonly string[], env: Record<string, string> = {}, isTTY = true) {
  const stream = () => Object.assign(new PassThrough({ encoding: 'utf8' }), isTTY ? { isTTY, columns: 80 } : {});
  const [stdin, stdout, stderr] = [new PassThrough(), stream(), stream()];
  const code = await runCli(args, { stdin, stdout, stderr, env });
  return { code, stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is looked for
const ESCAPES = /\u001b\[[0-9;]*[a-zA-Z]/g;

describe('countersign doctor', () => {
  it('prints a table that says what was looked at, and no progress where nobody watches', async () => {
    const { origin } = await startUpstream();
    const { code, stdout, stderr } = await cli(['doctor', configFile({ endpoints: [origin] })]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(
      new RegExp(`^acme  ${origin}\\n  ok   connection    127\\.0\\.0\\.1 port \\d+ in \\d+ ms\\n`),
    );
    expect(stdout).toMatch(/\n {2}visitor {2}AKIAVISITOR\n {4}ok {3}signature {5}GET \/v2 is accepted \(200\)\n/);
    expect(stdout).toMatch(/\n {4}ok {3}quota {9}29000 of 30000 requests left/);
    expect(stdout).toMatch(/\n\nAll is well\.\n$/);
  });

  it('shows the string to sign of a refused request', async () => {
    const { origin, port } = await startUpstream({ keypairs: {} });
    const { code, stdout } = await cli(['doctor', configFile({ endpoints: [origin] })]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/\n {4}FAIL signature {5}GET \/v2 is refused \(401: Unauthorized: /);
    expect(stdout).toMatch(
      new RegExp(`\\n {6}host {10}"host:127\\.0\\.0\\.1:${port}" +the endpoint’s own host and port\\n`),
    );
    expect(stdout).toMatch(/\n {6}key: secret {3}"\(not shown\)" +keypairs\.visitor\.secretKey\n/);
    expect(stdout).toMatch(/\n1 finding\n$/);
  });

  it('on a terminal: colours, lines that fit, and progress that is wiped', async () => {
    const { origin } = await startUpstream({ keypairs: {} });
    const { stdout, stderr } = await onTerminal(['doctor', configFile({ endpoints: [origin] })]);
    expect(stdout).toContain('\u001b[31mFAIL');
    const prose = stdout.replace(ESCAPES, '').split('The string to sign')[0] ?? '';
    expect(Math.max(...prose.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(stderr).toContain(`acme: connecting to ${origin}`);
    expect(stderr.endsWith('\r\u001b[K')).toBe(true);
  });

  it.each([
    [{ NO_COLOR: '1' }, true, false],
    [{ TERM: 'dumb' }, true, false],
    [{}, false, false],
    [{ FORCE_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, true, false],
  ])('%j, terminal: %s, has colours: %s', async (env, isTTY, expected) => {
    const { origin } = await startUpstream();
    const { stdout } = await onTerminal(['doctor', configFile({ endpoints: [origin] })], env, isTTY);
    expect(stdout.includes('\u001b[')).toBe(expected);
  });

  it('--tenant leaves the others alone', async () => {
    const [asked, spared] = [await startUpstream(), await startUpstream()];
    const upstream = { endpoints: [spared.origin], version: 'v4.20190315' };
    const other = {
      origins: ['https://other.example'],
      upstream,
      keypairs: { visitor: { accessKey: 'A', secretKey: 'b' } },
      login: { visitor: { role: 'visitor' } },
      routes: [],
    };
    const file = configFile({ endpoints: [asked.origin] }, undefined, { other });
    expect((await cli(['doctor', file, '--tenant', 'acme'])).code).toBe(0);
    expect([asked.requests.length > 0, spared.requests.length]).toEqual([true, 0]);
    expect((await cli(['doctor', file])).code).toBe(1);
  });

  it.each([
    [['--tenant', 'nobody'], 'no tenant "nobody"; there are: acme'],
    [['--clock', 'soon'], '--clock must be an http or https URL'],
    [['--clock', 'http://no-such-name.invalid'], 'The name is not known to DNS.'],
    [['another.yaml'], 'one FILE at most'],
    [['--tenants'], '--tenants'],
  ])('%j: one line and exit 2', async (args, message) => {
    const { code, stdout, stderr } = await cli(['doctor', configFile({ endpoints: ['http://127.0.0.1:1'] }), ...args]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  it('a faulty configuration: every fault and exit 2, as JSON too', async () => {
    const file = `${folderOf({ 'c.yaml': 'tenants: {}\ncolour: red\n' })}/c.yaml`;
    const { code, stderr } = await cli(['doctor', file]);
    expect(code).toBe(2);
    expect(stderr).toContain(`${file}:2:1: colour: unknown key`);
    const json = await cli(['doctor', file, '--json']);
    expect([json.code, json.stderr]).toEqual([2, '']);
    const report = JSON.parse(json.stdout);
    expect(report).toMatchObject({
      ok: false,
      file,
      faults: [
        { path: 'tenants', line: 1 },
        { path: 'colour', line: 2 },
      ],
    });
  });
});

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { folderOf, MINIMAL } from '../config/fixture.ts';
import { cli, MAIN, ROOT } from '../kit/cli.ts';

const SOUND = MINIMAL.replace('{ env: VISITOR_SECRET }', '{ file: secret }');
const BAD = `${SOUND.replace('origins:', 'orgins:')}drain: soon\n`;
const RISKY = SOUND.replace('{ file: secret }', 'hunter2');

const fileOf = (yaml: string) => join(folderOf({ 'countersign.yaml': yaml, secret: 'hunter2' }), 'countersign.yaml');

/** Runs the command with a standard output that says it is a terminal. */
async function onTerminal(args: readonly string[], env: Record<string, string>): Promise<string> {
  const stdout = Object.assign(new PassThrough(), { isTTY: true });
  await runCli(args, { stdin: Readable.from([]), stdout, stderr: new PassThrough(), env });
  stdout.end();
  return text(stdout);
}

describe('countersign check', () => {
  it('says in one line that a file is sound, exit 0', async () => {
    const file = fileOf(SOUND);
    expect(await cli(['check', file])).toEqual({ code: 0, stdout: `${file}: sound\n`, stderr: '' });
  });

  it('shows a block for each fault and counts them, exit 1', async () => {
    const file = fileOf(BAD);
    const { code, stdout } = await cli(['check', file]);
    expect(code).toBe(1);
    expect(stdout).toBe(
      [
        `fault ${file}:4:5  tenants.acme.orgins`,
        '  unknown key',
        '  expected: one of the keys origins, upstream, keypairs, login, routes, site, siteHeaders',
        '  hint:     did you mean "origins"?',
        '',
        `fault ${file}:14:1  drain`,
        '  expected a duration such as 250ms, 30s, 5m, 12h or 7d',
        '  found:    "soon"',
        '',
        `${file}: 2 faults`,
        '',
      ].join('\n'),
    );
  });

  it('warns with exit 0, and with --strict takes a warning for a fault', async () => {
    const file = fileOf(RISKY);
    const lenient = await cli(['check', file]);
    expect([lenient.code, lenient.stdout]).toEqual([0, expect.stringMatching(/^warning [\s\S]*: sound, 1 warning\n$/)]);
    const strict = await cli(['check', '--strict', file]);
    expect([strict.code, strict.stdout]).toEqual([1, expect.stringMatching(/^fault [\s\S]*: 1 fault\n$/)]);
  });

  it('gives the same as JSON', async () => {
    const file = fileOf(BAD);
    const { code, stdout } = await cli(['check', '--json', file]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      ok: false,
      file,
      faults: [
        expect.objectContaining({ file, line: 4, column: 5, path: 'tenants.acme.orgins', hint: expect.any(String) }),
        {
          ...{ file, line: 14, column: 1, path: 'drain', found: '"soon"' },
          ...{ message: expect.any(String), expected: 'a duration such as 250ms, 30s, 5m, 12h or 7d' },
        },
      ],
      warnings: [],
    });
    expect(JSON.parse((await cli(['check', '--json', fileOf(RISKY)])).stdout)).toMatchObject({
      ok: true,
      faults: [],
      warnings: [{ path: 'tenants.acme.keypairs.visitor.secretKey' }],
    });
    expect(JSON.parse((await cli(['check', '--json', '--strict', fileOf(RISKY)])).stdout)).toMatchObject({
      ok: false,
      faults: [{ path: 'tenants.acme.keypairs.visitor.secretKey' }],
      warnings: [],
    });
  });

  it.each([
    ['a file that is missing', ['nope.yaml'], 'countersign check: nope.yaml: no such file\n'],
    ['a folder', [ROOT], `countersign check: ${ROOT}: is a folder, not a file\n`],
    ['two files', ['a', 'b'], 'countersign check: check takes one FILE at most\n'],
    ['an unknown option', ['--nope'], expect.stringMatching(/^countersign check: .*--nope.*\n$/)],
  ])('refuses %s in one line, exit 2', async (_name, args, stderr) => {
    expect(await cli(['check', ...args])).toEqual({ code: 2, stdout: '', stderr });
  });

  it('colours on a terminal only, and not where NO_COLOR is set', async () => {
    const args = ['check', fileOf(BAD)];
    expect(await onTerminal(args, {})).toContain('\u001b[31mfault');
    expect(await onTerminal(args, { NO_COLOR: '1' })).not.toContain('\u001b');
    expect((await cli(args)).stdout).not.toContain('\u001b');
  });

  it('lets no control character of the file reach the terminal', async () => {
    const file = fileOf(`${SOUND}"evil\\e[2J": 1\n`);
    expect((await cli(['check', file])).stdout).toMatch(/ {2}evil\ufffd\[2J\n/);
  });

  it('finds what serve would find: the same faults, one line each', async () => {
    const file = fileOf(BAD);
    const { status, stderr } = spawnSync(process.execPath, [MAIN, 'serve', file], { encoding: 'utf8' });
    expect(status).toBe(2);
    expect(stderr).toBe(
      [
        `countersign serve: ${file}:4:5: tenants.acme.orgins: unknown key (did you mean "origins"?)`,
        `${file}:14:1: drain: expected a duration such as 250ms, 30s, 5m, 12h or 7d, found "soon"`,
        '2 faults in the configuration',
        '',
      ].join('\n'),
    );
  });
});

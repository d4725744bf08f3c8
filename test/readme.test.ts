import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../src/config/load.ts';
import { PROBLEM_CODES, Problem } from '../src/problem.ts';
import { folderOf } from './config/fixture.ts';
import { cli, ROOT } from './kit/cli.ts';
import { type Demo, startDemo } from './kit/demo.ts';
import { commandsOf, deadLinks, readMarkdown } from './kit/markdown.ts';

const { text: README, blocks } = readMarkdown('README.md');

const [tryIt = '', commandLine = '', container = '', ...others] = blocks('sh');

function run(command: string, cwd: string): { status: number | null; stdout: string; stderr: string } {
  return spawnSync('sh', ['-c', command], { cwd, encoding: 'utf8', timeout: 60_000 });
}

describe('README', () => {
  let demo: Demo;
  beforeAll(async () => {
    demo = await startDemo();
  });
  afterAll(() => demo.stop());

  it('its curl lines do what the comments above them say', () => {
    const folder = folderOf({});
    const answers = commandsOf(tryIt).map((command) =>
      run(`${command.replaceAll('8080', String(demo.port))} -sS`, folder),
    );
    expect(answers.map(({ stdout }) => stdout.split('\r\n', 1)[0])).toEqual([
      'HTTP/1.1 401 Unauthorized',
      'HTTP/1.1 201 Created',
      'HTTP/1.1 200 OK',
    ]);
    expect(answers[0]?.stdout).toMatch(/application\/problem\+json[\s\S]*X-RateLimit-Remaining: \d+/);
    expect(answers[1]?.stdout).toMatch(/set-cookie: session=/i);
    expect(answers[2]?.stdout).toMatch(/X-RateLimit-Remaining: \d+[\s\S]*\{"version":"v4\.20190315"\}$/);
  });

  it('its command lines run', () => {
    const folder = folderOf({ 'password.txt': 'correct horse\n' });
    const answers = commandsOf(commandLine).map((command) =>
      run(command.replace('password.txt', join(folder, 'password.txt')), ROOT),
    );
    expect(answers.map(({ status, stderr }) => [status, stderr])).toEqual(answers.map(() => [0, '']));
    expect(answers[1]?.stdout).toContain('"host:api.service.example"');
    expect(answers[2]?.stdout).toMatch(/^\$argon2id\$v=19\$/);
  });
});

it('has no command that nothing runs: the container’s are those of test/container', () => {
  expect(commandsOf(container).every((command) => command.startsWith('docker '))).toBe(true);
  expect(others).toEqual([]);
});

it('its configuration loads, with the users file beside it', () => {
  const [config = '', users = '', ...rest] = blocks('yaml');
  expect(rest).toEqual([]);
  const folder = folderOf({ 'countersign.yaml': '', 'users.yaml': users, 'acme-admin': 'secret' });
  writeFileSync(join(folder, 'countersign.yaml'), config.replace('/run/secrets/acme-admin', 'acme-admin'));
  const { snapshot, warnings } = loadConfig(join(folder, 'countersign.yaml'), { ACME_VISITOR_SECRET: 'secret' });
  expect(snapshot.tenants[0]?.login.password?.users.has('ada')).toBe(true);
  expect(warnings).toEqual([]);
});

it('lists every problem code under its status', () => {
  const table = README.slice(README.indexOf('| status | codes |'));
  for (const code of PROBLEM_CODES) {
    const row = table.split('\n').find((line) => line.includes(`\`${code}\``));
    expect(row?.split('|')[1], code).toContain(String(new Problem(code, '').status));
  }
});

it('lists every command', async () => {
  const { stdout } = await cli(['--help']);
  const names = [...stdout.matchAll(/^ {2}([a-z-]+) {2,}/gm)].map(([, name]) => name);
  for (const name of names) expect(README).toMatch(new RegExp(`^\\| .*\`${name}[\` ]`, 'm'));
});

it('its links lead somewhere', () => {
  expect(deadLinks('README.md')).toEqual([]);
});

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { MARGIN } from '../../bench/guard/compare.ts';
import { PEERS } from '../../bench/peers/all.ts';
import { TARGETS } from '../../bench/targets.ts';
import { WORKLOADS } from '../../bench/workloads/all.ts';
import { ROOT } from '../kit/cli.ts';
import { codesOf, commandsOf, deadLinks, readMarkdown } from '../kit/markdown.ts';

const GUIDE = readMarkdown('docs/benchmark.md');

/** What stands in backquotes in the first column of a section's table. */
const namesIn = (title: string) => GUIDE.section(title).rows.flatMap(([cell = '']) => codesOf(cell));

it('its tables have every workload, peer and target', () => {
  expect(namesIn('Workloads').sort()).toEqual(WORKLOADS.map(({ name }) => name).sort());
  expect(namesIn('Peers')).toEqual(PEERS.map(({ name }) => name));
  const bounds = TARGETS.map(({ workload, atMost, atLeast }) => [
    `\`${workload.name}\``,
    atMost === undefined ? `≥ ${atLeast?.toFixed(2)}` : `≤ ${atMost.toFixed(2)}`,
  ]);
  expect(GUIDE.section('Targets').rows.map(([workload, , bound]) => [workload, bound])).toEqual(bounds);
});

it('tells the margin of the guard', () => {
  expect(GUIDE.section('The guard against regressions').text).toContain(
    `more than ${Math.round((MARGIN - 1) * 100)} %`,
  );
});

it('its commands are there and take the options shown', () => {
  const { scripts } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8'));
  const commands = GUIDE.blocks('sh')
    .flatMap(commandsOf)
    .map((line) => line.replace(/\s+#.*/, ''));
  expect(commands).toHaveLength(7);
  for (const command of commands) {
    const [, script = '', options = ''] = /^npm run (\S+)(?: -- (.*))?$/.exec(command) ?? [];
    const program = /^node (bench\/\S+)$/.exec(scripts[script])?.[1];
    expect(program, command).toBeDefined();
    if (options === '') continue;
    const { status, stdout } = spawnSync(process.execPath, [program ?? '', ...options.split(' '), '--help'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    expect([status, stdout.startsWith('Usage: ')], command).toEqual([0, true]);
  }
});

it('its links and those to it lead somewhere', () => {
  for (const file of ['docs/benchmark.md', 'README.md', 'docs/operations.md']) expect(deadLinks(file)).toEqual([]);
});

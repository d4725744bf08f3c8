import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { folderOf } from '../config/fixture.ts';
import { CliProcess } from '../kit/cli.ts';
import { type Demo, startDemo } from '../kit/demo.ts';
import { commandsOf, readMarkdown } from '../kit/markdown.ts';

const { blocks } = readMarkdown('docs/ci.md');

interface Workflow {
  readonly jobs: { readonly smoke: { readonly steps: readonly { readonly run?: string }[] } };
}

interface Pipeline {
  readonly smoke: { readonly script: readonly string[] };
}

let demo: Demo;
beforeAll(async () => {
  demo = await startDemo();
});
afterAll(() => demo.stop());

/** Runs a command of the recipe with its reports in a folder of the test's, against the demo where it names a URL. */
async function outcomeOf(command: string): Promise<[number | null, string]> {
  const folder = folderOf({});
  const [, line = ''] = command.split(/^npm run -s countersign -- /);
  const args = line
    .replace('https://console.acme.example --tenant acme', `${demo.origin} --tenant demo`)
    .replace(/--junit (\S+)/, (_option, file: string) => `--junit ${join(folder, file)}`)
    .split(' ');
  const process = new CliProcess(args, { SMOKE_PASSWORD: 'countersign-demo' });
  return [await process.exited(), process.stderr];
}

it('its pipelines are YAML whose commands run', async () => {
  const [github = '', gitlab = ''] = blocks('yaml');
  const workflow = parse(github) as Workflow;
  const pipeline = parse(gitlab) as Pipeline;
  const commands = [...workflow.jobs.smoke.steps.flatMap(({ run }) => run ?? []), ...pipeline.smoke.script];
  expect(commands).toHaveLength(2);
  for (const command of commands) expect(await outcomeOf(command)).toEqual([0, '']);
});

it('its commands for a deployed gateway run', async () => {
  const commands = blocks('sh').flatMap(commandsOf);
  expect(commands).toHaveLength(2);
  for (const command of commands) expect(await outcomeOf(command)).toEqual([0, '']);
});

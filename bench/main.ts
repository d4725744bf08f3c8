import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Clients } from './clients.ts';
import { atWork, runCommand, type Workplace } from './command.ts';
import { halfLoad } from './half-load.ts';
import { chooseLoad } from './load.ts';
import { describeMachine } from './machine.ts';
import { helpOf, type Options, readOptions } from './options.ts';
import { PEERS, REFERENCE } from './peers/all.ts';
import { markdown } from './report.ts';
import { json } from './report-json.ts';
import { svg } from './report-svg.ts';
import type { Entry, Result } from './result.ts';
import { run } from './run.ts';
import { TARGETS } from './targets.ts';
import { startUpstream } from './upstream.ts';
import { judge } from './verdict.ts';
import { QUICK, WORKLOADS } from './workloads/all.ts';
import { get1k } from './workloads/get-1k.ts';

const CHOICE = { peers: PEERS, workloads: WORKLOADS, quick: QUICK };

const tell = (line: string) => process.stderr.write(`bench: ${line}\n`);

async function measure(options: Options, { pinning, children, folder }: Workplace): Promise<Result> {
  const date = new Date();
  const upstream = await startUpstream(children, join(folder, 'upstream'));
  const clients = new Clients(children, join(folder, 'clients'));
  const load = chooseLoad(children, clients, join(folder, 'load'));
  const machine = describeMachine(pinning, load.kind, upstream.kind);
  const rate = (entries: readonly Entry[]) => options.rate ?? halfLoad(entries, REFERENCE, get1k);
  const parts = { children, folder, upstreamPort: upstream.port, load, clients, rate, tell };
  const { entries, versions } = await run(options, parts);
  const { rounds, seconds } = options;
  const named = { ...machine, versions: { ...machine.versions, ...versions } };
  return { machine: named, date, rounds, seconds, rate: rate(entries), entries };
}

async function bench(): Promise<number> {
  const options = readOptions(process.argv.slice(2), CHOICE);
  if (options.help) {
    process.stdout.write(helpOf(CHOICE));
    return 0;
  }
  const result = await atWork((place) => measure(options, place));
  const verdict = judge(result.entries, TARGETS, result.machine.pinned?.proxies.length ?? 1);
  const report = markdown(result, REFERENCE, verdict);
  mkdirSync(options.out, { recursive: true });
  writeFileSync(join(options.out, 'report.md'), report);
  writeFileSync(join(options.out, 'report.json'), json(result, REFERENCE, verdict));
  writeFileSync(join(options.out, 'report.svg'), svg(result));
  process.stdout.write(report);
  tell(`the report, its JSON and a chart are in ${options.out}`);
  return verdict.passed ? 0 : 1;
}

await runCommand('bench', bench);

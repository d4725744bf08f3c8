import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { Clients } from './clients.ts';
import { atWork, runCommand, type Workplace } from './command.ts';
import { type Comparison, compare, lineOf } from './guard/compare.ts';
import { type GuardOptions, HELP, readGuardOptions } from './guard/options.ts';
import { type Ratios, readRecord, writeRecord } from './guard/record.ts';
import { BuiltInLoad } from './load/built-in.ts';
import { countersignMemory } from './peers/countersign.ts';
import { httpProxy3 } from './peers/http-proxy-3.ts';
import { bestRatioOf, type Entry, entryOf, ratioOf } from './result.ts';
import { run } from './run.ts';
import { startNodeUpstream } from './upstream.ts';
import type { Workload } from './workload.ts';
import { download10m } from './workloads/download-10m.ts';
import { get1k } from './workloads/get-1k.ts';
import { post1k } from './workloads/post-1k.ts';
import { post1m } from './workloads/post-1m.ts';

const SUBJECT = countersignMemory;
const REFERENCE = httpProxy3;
const WORKLOADS: readonly Workload[] = [get1k, post1k, post1m, download10m];
/** Length of a warm-up, in rounds. */
const WARM_UP = 2.5;

/** A proxy does not do what is to be measured. */
class Failure extends Error {
  override readonly name = 'Failure';
}

const tell = (line: string) => process.stderr.write(`guard: ${line}\n`);
const print = (line: string) => process.stdout.write(`${line}\n`);

/**
 * With the built-in load generator and a node:http upstream wherever it runs, for the set-up is part of a ratio.
 * Rejects where a proxy fails.
 */
async function measure(
  { rounds, seconds }: GuardOptions,
  workloads: readonly Workload[],
  { children, folder }: Workplace,
): Promise<Ratios> {
  const { port } = await startNodeUpstream(children);
  const clients = new Clients(children, join(folder, 'clients'));
  const plan = { rounds, seconds, warmUp: seconds * WARM_UP, peers: [SUBJECT, REFERENCE], workloads };
  const load = new BuiltInLoad(clients);
  const { entries } = await run(plan, { children, folder, upstreamPort: port, clients, load, rate: () => 0, tell });
  const ratios = workloads.map((workload) => {
    const ratio = ratioBetween(entries, workload);
    if (ratio === undefined) throw new Failure(`${workload.name} could not be measured`);
    return [workload.name, ratio] as const;
  });
  return Object.fromEntries(ratios);
}

/** Noise raises now the median of the rounds, now the best of them; a slower gateway raises both, so the lower counts. */
function ratioBetween(entries: readonly Entry[], workload: Workload): number | undefined {
  const [ours, theirs] = [SUBJECT, REFERENCE].map((peer) => entryOf(entries, peer, workload));
  const median = ours && ratioOf(ours, theirs, 'cpu')?.median;
  const best = ours && bestRatioOf(ours, theirs, 'cpu');
  return median === undefined || best === undefined ? undefined : Math.min(median, best);
}

/** Whatever looks worse is measured once more, by processes started anew, and the better of the two counts. */
async function compareTwice(options: GuardOptions, recorded: Ratios, place: Workplace): Promise<Comparison[]> {
  const first = compare(await measure(options, options.workloads, place), recorded);
  const doubtful = options.workloads.filter(({ name }) =>
    first.some(({ workload, worse }) => worse && workload === name),
  );
  if (doubtful.length === 0) return first;
  tell(`a second look at ${doubtful.map(({ name }) => name).join(', ')}`);
  const second = compare(await measure(options, doubtful, place), recorded);
  return first.map(
    (one) => second.find((other) => other.workload === one.workload && other.measured < one.measured) ?? one,
  );
}

async function record(options: GuardOptions, place: Workplace): Promise<void> {
  const ratios = await measure(options, options.workloads, place);
  const rounded = Object.entries(ratios).map(([workload, ratio]) => [workload, Number(ratio.toFixed(3))]);
  writeRecord(options.file, {
    recordedAt: new Date().toISOString(),
    node: process.versions.node,
    cpu: cpus()[0]?.model ?? 'unknown',
    reference: REFERENCE.name,
    ratios: Object.fromEntries(rounded),
  });
}

async function guard(): Promise<number> {
  const options = readGuardOptions(process.argv.slice(2), WORKLOADS);
  if (options.help) {
    print(HELP.trimEnd());
    return 0;
  }
  try {
    if (options.record) {
      await atWork((place) => record(options, place));
      print(`recorded in ${options.file}`);
      return 0;
    }
    const { ratios: recorded, recordedAt, reference } = readRecord(options.file);
    const comparisons = await atWork((place) => compareTwice(options, recorded, place));
    const load = loadavg()[0]?.toFixed(1);
    print(
      `CPU of Countersign as a multiple of ${reference}'s beside the record of ${recordedAt} (load average ${load}):`,
    );
    for (const comparison of comparisons) print(lineOf(comparison));
    return comparisons.some(({ worse }) => worse) ? 1 : 0;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    tell(error.message);
    return 1;
  }
}

await runCommand('guard', guard);

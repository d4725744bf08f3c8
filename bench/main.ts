import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Children } from './children.ts';
import { hasCpuTimes } from './cpu.ts';
import { chooseLoad } from './load.ts';
import { describeMachine } from './machine.ts';
import { HELP, type Options, readOptions, UsageError } from './options.ts';
import { PEERS, REFERENCE, SUBJECT } from './peers/all.ts';
import { choosePinning, type Pinning } from './pinning.ts';
import { markdown } from './report.ts';
import { json } from './report-json.ts';
import type { Result } from './result.ts';
import { run } from './run.ts';
import { startUpstream } from './upstream.ts';
import { judge } from './verdict.ts';
import { WORKLOADS } from './workloads/all.ts';
import { get1k } from './workloads/get-1k.ts';

/** Exit codes of a shell for a process that a signal ended. */
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly exitCode: number;

  constructor(exitCode: number) {
    super('interrupted');
    this.exitCode = exitCode;
  }
}

const tell = (line: string) => process.stderr.write(`bench: ${line}\n`);

/** Measures, reports, and gives the exit code. Whatever happens, nothing it has started is left behind. */
async function bench(options: Options): Promise<number> {
  const pinning = choosePinning();
  const children = new Children(pinning);
  const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
  chmodSync(folder, 0o711);
  process.once('exit', () => {
    children.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  try {
    const result = await Promise.race([measure(options, pinning, children, folder), interruption()]);
    const verdict = judge(result.entries, { subject: SUBJECT, reference: REFERENCE, workload: get1k });
    process.stdout.write(markdown(result, REFERENCE, verdict));
    if (options.json !== undefined) writeFileSync(options.json, json(result, REFERENCE, verdict));
    return verdict.passed ? 0 : 1;
  } finally {
    await children.end();
  }
}

async function measure(options: Options, pinning: Pinning, children: Children, folder: string): Promise<Result> {
  const upstream = await startUpstream(children, join(folder, 'upstream'));
  const load = chooseLoad(children, join(folder, 'load'));
  const machine = describeMachine(pinning, load.kind, upstream.kind);
  const entries = await run(options, { children, folder, upstreamPort: upstream.port, load, tell });
  return { machine, rounds: options.rounds, seconds: options.seconds, entries };
}

/** Rejects with Interrupted when a signal asks this process to end. */
function interruption(): Promise<never> {
  return new Promise((_resolve, reject) => {
    for (const [signal, code] of Object.entries(SIGNALS)) process.once(signal, () => reject(new Interrupted(code)));
  });
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2), PEERS, WORKLOADS);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (!hasCpuTimes()) {
    throw new UsageError('CPU time per request is read from /proc, so the benchmark runs on Linux only');
  }
  return bench(options);
}

try {
  process.exitCode = await main();
} catch (error) {
  if (error instanceof Interrupted) process.exit(error.exitCode);
  if (!(error instanceof UsageError)) throw error;
  tell(error.message);
  process.exitCode = 2;
}

import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Children } from './children.ts';
import { hasCpuTimes } from './cpu.ts';
import { UsageError } from './options.ts';
import { choosePinning, type Pinning } from './pinning.ts';

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

/** Where processes are started and measured. */
export interface Workplace {
  readonly pinning: Pinning;
  readonly children: Children;
  /** A folder of this run's own, that others may pass through; removed at the end. */
  readonly folder: string;
}

/** Does measuring work. Whatever happens, nothing that was started is left behind. Throws UsageError off Linux. */
export async function atWork<T>(work: (place: Workplace) => Promise<T>): Promise<T> {
  if (!hasCpuTimes()) throw new UsageError('CPU time is read from /proc, so the benchmark runs on Linux only');
  const pinning = choosePinning();
  const children = new Children(pinning);
  const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
  chmodSync(folder, 0o711);
  process.once('exit', () => {
    children.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  try {
    return await Promise.race([work({ pinning, children, folder }), interruption()]);
  } finally {
    await children.end();
  }
}

/** Runs a command: its exit code is what `main` gives, 2 for a UsageError, a shell's for a signal. */
export async function runCommand(name: string, main: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await main();
  } catch (error) {
    if (error instanceof Interrupted) process.exit(error.exitCode);
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${name}: ${error.message}\n`);
    process.exitCode = 2;
  }
}

/** Rejects with Interrupted when a signal asks this process to end. */
function interruption(): Promise<never> {
  return new Promise((_resolve, reject) => {
    for (const [signal, code] of Object.entries(SIGNALS)) process.once(signal, () => reject(new Interrupted(code)));
  });
}

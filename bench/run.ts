import { join } from 'node:path';
import { checkAnswer } from './check.ts';
import type { Children } from './children.ts';
import { cpuSecondsOfTree } from './cpu.ts';
import type { Load } from './load.ts';
import type { Options } from './options.ts';
import type { Peer, RunningPeer } from './peer.ts';
import { MissingProgram } from './programs.ts';
import type { Entry, Outcome, Sample } from './result.ts';
import type { Workload } from './workload.ts';

/** Warm-up of a peer under a workload, in rounds: it takes tens of thousands of requests until the compiler is done. */
const WARM_UP = 2;

export interface RunParts {
  readonly children: Children;
  readonly folder: string;
  readonly upstreamPort: number;
  readonly load: Load;
  /** Told what is going on, a line at a time. */
  readonly tell: (line: string) => void;
}

/** A peer under a workload on its way to an Entry. */
interface Course {
  readonly peer: Peer;
  readonly workload: Workload;
  readonly samples: Sample[];
  running: RunningPeer | undefined;
  broken: Exclude<Outcome, { status: 'measured' }> | undefined;
}

/**
 * Starts every peer, checks that it does its job, and measures them in turn, round after round, so that whatever else the
 * machine does meets all of them. A peer that fails anywhere is out from then on, and its entry says why.
 */
export async function run(options: Options, parts: RunParts): Promise<Entry[]> {
  const { rounds, seconds, peers, workloads } = options;
  const courses: Course[] = [];
  for (const peer of peers) courses.push(...(await start(peer, workloads, parts)));
  parts.tell('warming up');
  for (const course of courses) await measure(course, seconds * WARM_UP, parts);
  for (const course of courses) course.samples.length = 0;
  for (let round = 1; round <= rounds; round++) {
    parts.tell(`round ${round} of ${rounds}`);
    for (const workload of workloads) {
      for (const course of courses) if (course.workload === workload) await measure(course, seconds, parts);
    }
  }
  return courses.map(({ peer, workload, samples, broken }) => ({
    peer,
    workload,
    outcome: broken ?? { status: 'measured', samples },
  }));
}

async function start(peer: Peer, workloads: readonly Workload[], parts: RunParts): Promise<Course[]> {
  const courses: Course[] = workloads.map((workload) => {
    return { peer, workload, samples: [], running: undefined, broken: undefined };
  });
  try {
    const { children, upstreamPort, tell } = parts;
    const running = await peer.start({ children, folder: join(parts.folder, peer.name), upstreamPort });
    tell(`${peer.name} on port ${running.port}`);
    await running.check?.();
    for (const course of courses) {
      course.running = running;
      await orBreak(course, () => checkAnswer(running, course.workload));
    }
  } catch (error) {
    for (const course of courses) course.broken = brokenBy(error);
  }
  return courses;
}

async function measure(course: Course, seconds: number, { load }: RunParts): Promise<void> {
  const { running, broken, workload } = course;
  if (running === undefined || broken !== undefined) return;
  await orBreak(course, async () => {
    const before = cpuSecondsOfTree(running.pid);
    const { requests, errors, seconds: took } = await load.run({ ...running, workload }, seconds);
    const cpuSeconds = cpuSecondsOfTree(running.pid) - before;
    if (errors > 0) throw new Error(`${errors} of ${requests + errors} requests failed under load`);
    if (requests === 0) throw new Error('not one request was answered');
    course.samples.push({ requests, seconds: took, cpuSeconds });
  });
}

async function orBreak(course: Course, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    course.broken = brokenBy(error);
  }
}

function brokenBy(error: unknown): NonNullable<Course['broken']> {
  const reason = error instanceof Error ? error.message : String(error);
  return { status: error instanceof MissingProgram ? 'missing' : 'failed', reason };
}

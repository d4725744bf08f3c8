import { join } from 'node:path';
import type { Children } from './children.ts';
import { cpuSecondsOfTree } from './cpu.ts';
import { peakRssOfTree, resetPeakRss } from './memory.ts';
import type { Peer, RunningPeer } from './peer.ts';
import { MissingProgram } from './programs.ts';
import type { Entry, Outcome, Sample } from './result.ts';
import type { Drive, Workload } from './workload.ts';

/** CPU time a peer has used under load by the time its compilers are done with what is asked for, in seconds. */
const WARM = 2;
/** Tries to get there: on a busy machine a second of load may be little work. */
const WARM_UPS = 4;

/** What is measured. */
export interface Plan {
  readonly rounds: number;
  /** Length of one round of one peer under one workload. */
  readonly seconds: number;
  /** Seconds of load before the first round that count for nothing; as many as a round has when left out. */
  readonly warmUp?: number;
  readonly peers: readonly Peer[];
  readonly workloads: readonly Workload[];
}

export interface RunParts extends Pick<Drive, 'load' | 'clients'> {
  readonly children: Children;
  readonly folder: string;
  readonly upstreamPort: number;
  /** Requests per second of the load at a fixed rate, judged by what has been measured so far. */
  readonly rate: (entries: readonly Entry[]) => number;
  /** Told what is going on, a line at a time. */
  readonly tell: (line: string) => void;
}

/** What every round of a workload is driven with. */
type RoundDrive = Omit<Drive, 'begin'>;

type Broken = Exclude<Outcome, { status: 'measured' }>;

/** A peer that was started, or why it could not be. */
interface Started {
  readonly peer: Peer;
  readonly running: RunningPeer | undefined;
  readonly broken: Broken | undefined;
  /** CPU time it has used to warm up, over all workloads. */
  readonly heat: { cpuSeconds: number };
}

/** A peer under a workload on its way to an Entry. */
interface Course extends Started {
  readonly samples: Sample[];
  broken: Broken | undefined;
}

export interface RunResult {
  readonly entries: readonly Entry[];
  /** Of the peers that could be started. */
  readonly versions: Readonly<Record<string, string>>;
}

/**
 * Starts every peer, and workload for workload checks that each does its job and measures them in turn, round after
 * round, so that whatever else the machine does meets all of them. A peer that fails is out of that workload from then
 * on, and its entry says why.
 */
export async function run(plan: Plan, parts: RunParts): Promise<RunResult> {
  const started: Started[] = [];
  for (const peer of plan.peers) started.push(await start(peer, parts));
  const entries: Entry[] = [];
  for (const workload of plan.workloads) {
    const taking = started.filter(({ peer }) => peer.workloads?.includes(workload.name) ?? true);
    parts.tell(`${workload.name}: checking and warming up`);
    const drive = { load: parts.load, clients: parts.clients, rate: parts.rate(entries) };
    for (const { peer, outcome } of await measureAll(taking, workload, plan, drive, parts.tell)) {
      if (outcome.status === 'failed') parts.tell(`${peer.name} fails ${workload.name}: ${outcome.reason}`);
      entries.push({ peer, workload, outcome });
    }
  }
  return { entries, versions: Object.assign({}, ...started.map(({ running }) => running?.versions)) };
}

async function start(peer: Peer, { children, folder, upstreamPort, tell }: RunParts): Promise<Started> {
  try {
    const running = await peer.start({ children, folder: join(folder, peer.name), upstreamPort });
    tell(`${peer.name} on port ${running.port}`);
    await running.check?.();
    return { peer, running, broken: undefined, heat: { cpuSeconds: 0 } };
  } catch (error) {
    const broken = brokenBy(error);
    tell(`${peer.name} is ${broken.status}: ${broken.reason}`);
    return { peer, running: undefined, broken, heat: { cpuSeconds: 0 } };
  }
}

async function measureAll(
  started: readonly Started[],
  workload: Workload,
  { rounds, seconds, warmUp = seconds }: Plan,
  drive: RoundDrive,
  tell: (line: string) => void,
): Promise<{ peer: Peer; outcome: Outcome }[]> {
  const courses: Course[] = started.map((each) => ({ ...each, samples: [] }));
  for (const course of courses) {
    await attempt(course, async (running) => {
      await workload.check(running);
      if (!workload.once) await warm(course, running, workload, warmUp, drive);
    });
  }
  for (let round = 1, last = workload.once ? 1 : rounds; round <= last; round++) {
    tell(`${workload.name}: round ${round} of ${last}`);
    for (const course of courses) {
      await attempt(course, async (running) => {
        course.samples.push(await sample(running, workload, seconds, drive));
      });
    }
  }
  return courses.map(({ peer, samples, broken }) => ({ peer, outcome: broken ?? { status: 'measured', samples } }));
}

/** At least one round, and more while the peer is still cold. */
async function warm(course: Course, running: RunningPeer, workload: Workload, seconds: number, drive: RoundDrive) {
  const { heat } = course;
  for (let time = 0; time === 0 || (time < WARM_UPS && heat.cpuSeconds < WARM); time++) {
    heat.cpuSeconds += (await sample(running, workload, seconds, drive)).cpuSeconds;
  }
}

async function sample(running: RunningPeer, workload: Workload, seconds: number, drive: RoundDrive): Promise<Sample> {
  resetPeakRss(running.pid);
  let before = cpuSecondsOfTree(running.pid);
  const begin = () => {
    before = cpuSecondsOfTree(running.pid);
  };
  const { units, errors, seconds: took, latency } = await workload.run(running, seconds, { ...drive, begin });
  const cpuSeconds = cpuSecondsOfTree(running.pid) - before;
  const peakRss = peakRssOfTree(running.pid);
  if (errors > 0) throw new Error(`${errors} errors against ${units} ${workload.unit}s under load`);
  if (units === 0) throw new Error(`not one ${workload.unit} came through`);
  return { units, seconds: took, cpuSeconds, peakRss, ...(latency && { latency }) };
}

/** Does something with a peer that has not failed yet; if that fails, the peer has. */
async function attempt(course: Course, work: (running: RunningPeer) => Promise<void>): Promise<void> {
  if (course.running === undefined || course.broken !== undefined) return;
  try {
    await work(course.running);
  } catch (error) {
    course.broken = brokenBy(error);
  }
}

function brokenBy(error: unknown): Broken {
  const reason = error instanceof Error ? error.message : String(error);
  return { status: error instanceof MissingProgram ? 'missing' : 'failed', reason };
}

import { readdirSync, readFileSync } from 'node:fs';

/** The kernel shows times in ticks of USER_HZ, which is 100 on every architecture Node runs on. */
const TICKS_PER_SECOND = 100;

/** One process's line in /proc (proc_pid_stat(5)). */
export interface ProcessTimes {
  readonly pid: number;
  readonly parent: number;
  /** User and system time of the process and of its children that have ended, in ticks. */
  readonly ticks: number;
}

/** Reads /proc/PID/stat. The name in it may hold spaces and parentheses, so the fields are counted from its end. */
export function parseStat(stat: string): ProcessTimes {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const numberAt = (position: number) => Number(fields[position - 3]);
  return {
    pid: Number.parseInt(stat, 10),
    parent: numberAt(4),
    ticks: numberAt(14) + numberAt(15) + numberAt(16) + numberAt(17),
  };
}

/** A process and all its descendants. Throws when the process is not among `processes`. */
export function treeOf(root: number, processes: readonly ProcessTimes[]): ProcessTimes[] {
  const found = processes.find(({ pid }) => pid === root);
  if (found === undefined) throw new Error(`there is no process ${root} any more`);
  return [found, ...processes.filter(({ parent }) => parent === root).flatMap(({ pid }) => treeOf(pid, processes))];
}

/** CPU time of a process and all its descendants, in ticks. Throws when the process is not among `processes`. */
export function ticksOfTree(root: number, processes: readonly ProcessTimes[]): number {
  return treeOf(root, processes).reduce((sum, { ticks }) => sum + ticks, 0);
}

/** CPU time a process and all its descendants have used so far, in seconds, to the hundredth. */
export function cpuSecondsOfTree(root: number): number {
  return ticksOfTree(root, allProcesses()) / TICKS_PER_SECOND;
}

export function pidsOfTree(root: number): number[] {
  return treeOf(root, allProcesses()).map(({ pid }) => pid);
}

/** Whether this system shows CPU times the way Linux does. */
export function hasCpuTimes(): boolean {
  return process.platform === 'linux' && readStat('self') !== undefined;
}

function allProcesses(): ProcessTimes[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(readStat)
    .filter((stat) => stat !== undefined)
    .map(parseStat);
}

/** Undefined for a process that has ended since the folder was read. */
function readStat(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
}

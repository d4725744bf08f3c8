import { readFileSync, writeFileSync } from 'node:fs';
import { pidsOfTree } from './cpu.ts';

/** From here on a process tree's peak is counted afresh, where the kernel lets us (proc_pid_clear_refs(5)). */
export function resetPeakRss(root: number): void {
  for (const pid of pidsOfTree(root)) {
    try {
      writeFileSync(`/proc/${pid}/clear_refs`, '5');
    } catch {
      // Another user's process: its peak is then that of its whole life.
    }
  }
}

/** The most memory each process of a tree has had resident, in bytes, added up: pages they share count more than once. */
export function peakRssOfTree(root: number): number {
  return pidsOfTree(root).reduce((sum, pid) => sum + peakRss(readFileSync(`/proc/${pid}/status`, 'latin1')), 0);
}

/** Bytes, from the contents of /proc/PID/status. */
export function peakRss(status: string): number {
  const kilobytes = /^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { findProgram } from './programs.ts';

/** `proxy`: what is measured. `rest`: load generator, upstream and stores. */
export type Place = 'proxy' | 'rest';

/** What to put in front of a command line so that the process runs in its place, and what that came to. */
export interface Pinning {
  readonly prefix: Readonly<Record<Place, readonly string[]>>;
  /** CPU numbers of each place; undefined when nothing is pinned. */
  readonly cpus: Readonly<Record<Place, readonly number[]>> | undefined;
}

/** Gives the proxy the first CPU this process may use and everything else the others; pins nothing where it cannot. */
export function choosePinning(): Pinning {
  const bound = diesWithParent();
  const [first, ...others] = allowedCpus(readFileSync('/proc/self/status', 'latin1'));
  const taskset = findProgram('taskset');
  if (first === undefined || others.length === 0 || taskset === undefined || !works([taskset, '-c', `${first}`])) {
    return { prefix: { proxy: bound, rest: bound }, cpus: undefined };
  }
  return {
    prefix: {
      proxy: [...bound, taskset, '-c', `${first}`],
      rest: [...bound, taskset, '-c', others.join(',')],
    },
    cpus: { proxy: [first], rest: others },
  };
}

/** The CPUs in the Cpus_allowed_list of /proc/PID/status, such as `0-3,8`. A container may not have all of them. */
export function allowedCpus(status: string): number[] {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1];
  if (list === undefined) return [];
  return list.split(',').flatMap((range) => {
    const [from = Number.NaN, to = from] = range.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, offset) => from + offset);
  });
}

/** Where the kernel can be asked to, children end even when this process is killed without a chance to end them. */
function diesWithParent(): string[] {
  const setpriv = findProgram('setpriv');
  const prefix = setpriv === undefined ? [] : [setpriv, '--pdeathsig', 'TERM', '--'];
  return setpriv !== undefined && works(prefix) ? prefix : [];
}

function works([command = '', ...args]: readonly string[]): boolean {
  return spawnSync(command, [...args, process.execPath, '--version'], { stdio: 'ignore', timeout: 5000 }).status === 0;
}

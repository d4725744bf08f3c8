import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { findProgram } from './programs.ts';

/** `proxy`: what is measured; `proxies`: what is measured in two processes. `rest`: load, upstream and stores. */
export type Place = 'proxy' | 'proxies' | 'rest';

/** What to put in front of a command line so that the process runs in its place, and what that came to. */
export interface Pinning {
  readonly prefix: Readonly<Record<Place, readonly string[]>>;
  /** CPU numbers of each place; undefined when nothing is pinned. */
  readonly cpus: Readonly<Record<Place, readonly number[]>> | undefined;
}

/** Puts each place on CPUs of its own that this process may use; pins nothing where it cannot. */
export function choosePinning(): Pinning {
  const bound = diesWithParent();
  const cpus = placesOn(allowedCpus(readFileSync('/proc/self/status', 'latin1')));
  const taskset = findProgram('taskset');
  if (cpus === undefined || taskset === undefined || !works([taskset, '-c', cpus.proxy.join(',')])) {
    return { prefix: { proxy: bound, proxies: bound, rest: bound }, cpus: undefined };
  }
  const onto = (place: Place) => [...bound, taskset, '-c', cpus[place].join(',')];
  return { prefix: { proxy: onto('proxy'), proxies: onto('proxies'), rest: onto('rest') }, cpus };
}

/** Two processes get two CPUs where as many are left for the rest. Undefined for a single CPU. */
export function placesOn(cpus: readonly number[]): Pinning['cpus'] {
  if (cpus.length < 2) return undefined;
  const measured = cpus.length < 4 ? 1 : 2;
  return { proxy: cpus.slice(0, 1), proxies: cpus.slice(0, measured), rest: cpus.slice(measured) };
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

import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release } from 'node:os';
import type { Load } from './load.ts';
import type { Pinning } from './pinning.ts';
import { findProgram, versionOf } from './programs.ts';
import type { Upstream } from './upstream.ts';

/** Where the figures come from. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly kernel: string;
  /** Load average of the minute before the start: other work on the machine shows here. */
  readonly loadBefore: number;
  /** CPU numbers of the measured process and of everything else; null when nothing is pinned. */
  readonly pinned: NonNullable<Pinning['cpus']> | null;
  readonly load: Load['kind'];
  readonly upstream: Upstream['kind'];
  /** Name → version, of what takes part. */
  readonly versions: Readonly<Record<string, string>>;
}

export function describeMachine(pinning: Pinning, load: Load['kind'], upstream: Upstream['kind']): Machine {
  const found = {
    node: process.versions.node,
    'http-proxy-3': packageVersion('http-proxy-3'),
    nginx: versionOf(findProgram('nginx'), '-v'),
    redis: versionOf(findProgram('redis-server', 'REDIS_SERVER'), '--version'),
    wrk: versionOf(findProgram('wrk'), '--version'),
  };
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    kernel: release(),
    loadBefore: loadavg()[0] ?? 0,
    pinned: pinning.cpus ?? null,
    load,
    upstream,
    versions: Object.fromEntries(Object.entries(found).filter((entry): entry is [string, string] => !!entry[1])),
  };
}

function packageVersion(name: string): string {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

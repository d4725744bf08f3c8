import type { Clients } from './clients.ts';
import type { Load, LoadResult, Target } from './load.ts';
import type { RunningPeer } from './peer.ts';

/** What a round is driven with. */
export interface Drive {
  /** Connections that ask again as soon as they are answered. */
  readonly load: Load;
  /** Client programs of our own, for everything else. */
  readonly clients: Clients;
  /** Requests per second of a load that does not wait for answers: half of what the reference can carry, if measured. */
  readonly rate: number;
  /** To be called where a round begins in earnest only once connections are made: CPU time counts from then on. */
  readonly begin: () => void;
}

/** One kind of work, the same for every peer. */
export interface Workload {
  /** What `--workloads` calls it. */
  readonly name: string;
  readonly title: string;
  /** What is counted, in the singular: CPU time is per one of these. */
  readonly unit: string;
  /** Measured in one round without a warm-up: its length does not depend on --seconds, or it is about memory. */
  readonly once?: true;
  /** Rejects unless the peer does this work, and its own job on the way. */
  check(peer: RunningPeer): Promise<void>;
  /** One round. */
  run(target: Target, seconds: number, drive: Drive): Promise<LoadResult>;
}

/** The same bytes for every peer. */
export interface RequestShape {
  readonly method: string;
  readonly path: string;
  /** Besides Host, Cookie and Content-Length. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** What a page's script sends with every call to its own origin. */
export const PAGE_HEADERS = { Accept: 'application/json', 'Sec-Fetch-Site': 'same-origin' };
export const JSON_HEADERS = { ...PAGE_HEADERS, 'Content-Type': 'application/json' };

/** JSON text of exactly so many bytes. */
export function jsonOfSize(bytes: number): string {
  const frame = JSON.stringify({ padding: '' });
  return JSON.stringify({ padding: 'x'.repeat(bytes - frame.length) });
}

import type { Children, ServerProcess } from './children.ts';

/** What a peer may use to start. */
export interface Stage {
  readonly children: Children;
  /** A folder of this peer's own; not there yet, removed at the end. */
  readonly folder: string;
  readonly upstreamPort: number;
}

/** A server that is measured. `pid` is the root of the process tree whose CPU time counts. */
export interface RunningPeer extends ServerProcess {
  /** The Cookie header of every request; one of the same length goes to peers that have no use for it. */
  readonly cookie: string;
  /** Rejects unless the peer does what it is measured for, beyond what is checked of all. */
  readonly check?: () => Promise<void>;
}

export interface Peer {
  /** What `--only` calls it. */
  readonly name: string;
  readonly title: string;
  /** Whether the benchmark fails when this peer does. One that is not installed never makes it fail. */
  readonly required: boolean;
  /** Rejects with MissingProgram where something it needs is not installed. */
  start(stage: Stage): Promise<RunningPeer>;
}

/** Of a session cookie's length. */
export const UNUSED_COOKIE = `session=${'0'.repeat(43)}`;

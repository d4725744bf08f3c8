import type { Children, ServerProcess } from './children.ts';
import type { Seen } from './upstream-reply.ts';

/** What a peer may use to start. */
export interface Stage {
  readonly children: Children;
  /** A folder of this peer's own; not there yet, removed at the end. */
  readonly folder: string;
  readonly upstreamPort: number;
}

/** A server that is measured. `pid` is the root of the process tree whose CPU time and memory count. */
export interface RunningPeer extends ServerProcess {
  /** The Cookie header of every request; one of the same length goes to peers that have no use for it. */
  readonly cookie: string;
  /** It forwards nothing. */
  readonly answersItself?: true;
  /** Rejects unless the peer refuses what it is there to refuse. */
  readonly check?: () => Promise<void>;
  /** Throws unless the upstream has seen, of a request with this body, what the peer's job demands. */
  readonly judge?: (seen: Seen, body: string) => void;
  /** Name → version of what the peer is made of, beyond what the report names anyway. */
  readonly versions?: Readonly<Record<string, string>>;
}

export interface Peer {
  /** What `--only` calls it. */
  readonly name: string;
  readonly title: string;
  /** Whether the benchmark fails when this peer does. One that is not installed never makes it fail. */
  readonly required: boolean;
  /** Names of the workloads it takes part in; all when left out. */
  readonly workloads?: readonly string[];
  /** Rejects with MissingProgram where something it needs is not installed. */
  start(stage: Stage): Promise<RunningPeer>;
}

/** Of a session cookie's length. */
export const UNUSED_COOKIE = `session=${'0'.repeat(43)}`;

import { parseArgs } from 'node:util';
import type { Peer } from './peer.ts';
import type { Workload } from './workload.ts';

export interface Options {
  readonly rounds: number;
  /** Length of one round of one peer under one workload. */
  readonly seconds: number;
  readonly peers: readonly Peer[];
  readonly workloads: readonly Workload[];
  /** Where to write the result as JSON. */
  readonly json: string | undefined;
  readonly help: boolean;
}

/** The command line is wrong; the message says how. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export const HELP = `Usage: npm run bench -- [OPTIONS]

Measures CPU time per request of Countersign beside its peers, interleaved in one run.

Options:
  --rounds N      rounds of each peer and workload (default 5)
  --seconds S     length of a round in seconds (default 3)
  --only NAMES    peers and workloads to measure, by name, separated by commas
  --json FILE     write the result as JSON
  --help

Exit codes: 0 the target is met, 1 it is missed or a required peer failed, 2 the benchmark cannot run.
`;

/** Reads the command line. `--only` picks among `peers` and `workloads`; a kind it names none of is measured whole. */
export function readOptions(args: readonly string[], peers: readonly Peer[], workloads: readonly Workload[]): Options {
  const { values } = parse(args);
  const only = values.only?.split(',');
  const known = [...peers, ...workloads].map(({ name }) => name);
  const unknown = only?.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new UsageError(`--only knows no "${unknown}", only ${known.join(', ')}`);
  return {
    rounds: positive('--rounds', values.rounds, 100, Number.isInteger),
    seconds: positive('--seconds', values.seconds, 60, Number.isFinite),
    peers: picked(peers, only),
    workloads: picked(workloads, only),
    json: values.json,
    help: values.help,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        rounds: { type: 'string', default: '5' },
        seconds: { type: 'string', default: '3' },
        only: { type: 'string' },
        json: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function positive(name: string, text: string, most: number, fits: (value: number) => boolean): number {
  const value = Number(text);
  if (fits(value) && value > 0 && value <= most) return value;
  throw new UsageError(`${name} is a positive number of at most ${most}, found "${text}"`);
}

function picked<T extends { readonly name: string }>(
  all: readonly T[],
  only: readonly string[] | undefined,
): readonly T[] {
  const named = all.filter(({ name }) => only?.includes(name));
  return named.length > 0 ? named : all;
}

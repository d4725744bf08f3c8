import { parseArgs } from 'node:util';
import type { Peer } from './peer.ts';
import type { Workload } from './workload.ts';

export interface Options {
  readonly rounds: number;
  /** Length of one round of one peer under one workload. */
  readonly seconds: number;
  readonly peers: readonly Peer[];
  readonly workloads: readonly Workload[];
  /** Requests per second of the open loop; undefined: half of what the reference carries. */
  readonly rate: number | undefined;
  /** Folder that takes the report. */
  readonly out: string;
  readonly help: boolean;
}

/** What there is to choose from. */
export interface Choice {
  readonly peers: readonly Peer[];
  readonly workloads: readonly Workload[];
  /** The workloads of `--quick`. */
  readonly quick: readonly Workload[];
}

/** The command line is wrong; the message says how. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** With every peer there the whole takes some 16 minutes, the quick form some three. */
const WHOLE = { rounds: 3, seconds: 1.5 };
const QUICK = { rounds: 3, seconds: 1 };

export function helpOf({ peers, workloads, quick }: Choice): string {
  const list = (items: readonly { name: string; title: string }[]) =>
    items.map(({ name, title }) => `  ${name.padEnd(18)} ${title}`).join('\n');
  return `Usage: npm run bench -- [OPTIONS]

Measures CPU time, throughput, latency and memory of Countersign beside its peers, interleaved in one run, and writes
report.md, report.json and report.svg. All of it takes about 16 minutes. Peers that are not installed are shown as
missing; npm run bench:peers installs what it can and says how to install the rest. The uploads take up to 8 GB of memory,
for there are peers that keep them there.

Options:
  --quick             ${quick.map(({ name }) => name).join(', ')} only, ${QUICK.rounds} rounds of ${QUICK.seconds} s: 2 to 3 minutes
  --only NAMES        peers to measure, separated by commas
  --workloads NAMES   workloads to measure, separated by commas
  --rounds N          rounds of each peer and workload (default ${WHOLE.rounds})
  --seconds S         length of a round in seconds (default ${WHOLE.seconds})
  --rate N            requests a second of the open loop (default: half of what http-proxy-3 carries in get-1k)
  --out FOLDER        where the report goes (default bench/results)
  --help

Peers:
${list(peers)}

Workloads:
${list(workloads)}

Exit codes: 0 the targets are met, 1 one is missed or a required peer failed, 2 the benchmark cannot run.
`;
}

/** Reads the command line. Throws UsageError. */
export function readOptions(args: readonly string[], choice: Choice): Options {
  const { values } = parse(args);
  const usual = values.quick ? QUICK : WHOLE;
  return {
    rounds: positive('--rounds', values.rounds ?? `${usual.rounds}`, 100, Number.isInteger),
    seconds: positive('--seconds', values.seconds ?? `${usual.seconds}`, 60, Number.isFinite),
    peers: picked('--only', values.only, choice.peers, choice.peers),
    workloads: picked(
      '--workloads',
      values.workloads,
      choice.workloads,
      values.quick ? choice.quick : choice.workloads,
    ),
    rate: values.rate === undefined ? undefined : positive('--rate', values.rate, 100_000, Number.isFinite),
    out: values.out,
    help: values.help,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        quick: { type: 'boolean', default: false },
        only: { type: 'string' },
        workloads: { type: 'string' },
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        rate: { type: 'string' },
        out: { type: 'string', default: 'bench/results' },
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

/** In the order of `all`, whatever the order of the names. Throws UsageError. */
export function picked<T extends { readonly name: string }>(
  option: string,
  names: string | undefined,
  all: readonly T[],
  usual: readonly T[],
): readonly T[] {
  if (names === undefined) return usual;
  const wanted = names.split(',');
  const unknown = wanted.find((name) => all.every((each) => each.name !== name));
  if (unknown === undefined) return all.filter(({ name }) => wanted.includes(name));
  throw new UsageError(`${option} knows no "${unknown}", only ${all.map(({ name }) => name).join(', ')}`);
}

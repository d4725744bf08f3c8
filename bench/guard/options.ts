import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { picked, UsageError } from '../options.ts';
import type { Workload } from '../workload.ts';

export interface GuardOptions {
  /** The file of recorded ratios. */
  readonly file: string;
  /** Write the file in place of comparing with it. */
  readonly record: boolean;
  readonly workloads: readonly Workload[];
  readonly rounds: number;
  readonly seconds: number;
  readonly help: boolean;
}

const FILE = fileURLToPath(new URL('../recorded.json', import.meta.url));
/** Few where a mistake costs a second look, many where it would be believed for months. */
const COMPARE = { rounds: 7, seconds: 0.4 };
const RECORD = { rounds: 21, seconds: 0.4 };

export const HELP = `Usage: npm run bench:guard -- [OPTIONS]

Measures, in about a minute, the CPU time per request of Countersign as a multiple of bare http-proxy-3's, and fails when
it is clearly worse than recorded in bench/recorded.json. It needs neither wrk nor nginx.

Options:
  --record           measure at length and write the record anew
  --recorded FILE    the record (default bench/recorded.json)
  --workloads NAMES  some of get-1k, post-1k, post-1m and download-10m, separated by commas (default all)
  --rounds N         rounds of each (default ${COMPARE.rounds}, with --record ${RECORD.rounds})
  --seconds S        length of a round (default ${COMPARE.seconds}, with --record ${RECORD.seconds})
  --help

Exit codes: 0 as recorded or better, 1 clearly worse or a proxy failed, 2 the guard cannot run.
`;

/** Reads the command line; `guarded` are the workloads to choose from. Throws UsageError. */
export function readGuardOptions(args: readonly string[], guarded: readonly Workload[]): GuardOptions {
  const { values } = parse(args);
  const usual = values.record ? RECORD : COMPARE;
  const rounds = Number(values.rounds ?? usual.rounds);
  const seconds = Number(values.seconds ?? usual.seconds);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100)
    throw new UsageError('--rounds is a number from 1 to 100');
  if (!(seconds > 0 && seconds <= 60)) throw new UsageError('--seconds is a positive number of at most 60');
  const workloads = picked('--workloads', values.workloads, guarded, guarded);
  return { file: values.recorded, record: values.record, workloads, rounds, seconds, help: values.help };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        record: { type: 'boolean', default: false },
        recorded: { type: 'string', default: FILE },
        workloads: { type: 'string' },
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

import { readFileSync, writeFileSync } from 'node:fs';
import { UsageError } from '../options.ts';

/** Workload → CPU of Countersign as a multiple of the reference's. */
export type Ratios = Readonly<{ [workload: string]: number }>;

/** What was measured when the record was made, on whatever machine that was: ratios hold elsewhere, times do not. */
export interface RecordedRatios {
  readonly recordedAt: string;
  readonly node: string;
  readonly cpu: string;
  readonly reference: string;
  readonly ratios: Ratios;
}

/** Throws UsageError for a file that is no record. */
export function readRecord(file: string): RecordedRatios {
  try {
    const record = JSON.parse(readFileSync(file, 'utf8')) as RecordedRatios;
    if (Object.values(record.ratios).every((ratio) => ratio > 0)) return record;
    throw new Error('it has a ratio that is no positive number');
  } catch (error) {
    throw new UsageError(`${file} is no record: ${(error as Error).message}`);
  }
}

export function writeRecord(file: string, record: RecordedRatios): void {
  writeFileSync(file, `${JSON.stringify(record, undefined, 2)}\n`);
}

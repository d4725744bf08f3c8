import { UsageError } from '../options.ts';
import type { Ratios } from './record.ts';

/** A ratio counts as clearly worse beyond so many times the recorded one; a shared machine's noise stays well below. */
export const MARGIN = 1.3;

export interface Comparison {
  readonly workload: string;
  readonly recorded: number;
  readonly measured: number;
  readonly worse: boolean;
}

/** Throws UsageError where there is no recorded ratio for a measured one. */
export function compare(measured: Ratios, recorded: Ratios): Comparison[] {
  return Object.entries(measured).map(([workload, ratio]) => {
    const before = recorded[workload];
    if (before === undefined) throw new UsageError(`nothing is recorded for ${workload}: run with --record`);
    return { workload, recorded: before, measured: ratio, worse: ratio > before * MARGIN };
  });
}

export function lineOf({ workload, recorded, measured, worse }: Comparison): string {
  const change = Math.round((measured / recorded - 1) * 100);
  const figures = `${measured.toFixed(2)}, recorded ${recorded.toFixed(2)} (${change < 0 ? '' : '+'}${change} %)`;
  return `${worse ? 'WORSE' : 'holds'} ${workload.padEnd(13)} ${figures}, limit ${(recorded * MARGIN).toFixed(2)}`;
}

/** Several measurements of one thing. */
export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Throws RangeError for no values: a median of nothing would pass for a measurement. */
export function summarize(values: readonly number[]): Summary {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) throw new RangeError('there is nothing to summarize');
  const lower = sorted.length % 2 === 1 ? upper : (sorted[middle - 1] as number);
  return { median: (lower + upper) / 2, min: sorted[0] as number, max: sorted[sorted.length - 1] as number };
}

/**
 * The ratios of values measured side by side, round for round. Both sides of one round met the same machine, so its drift
 * from round to round cancels out, which it would not in a ratio of medians.
 */
export function pairedRatios(values: readonly number[], references: readonly number[]): Summary {
  if (values.length !== references.length) throw new RangeError('each value needs a reference of the same round');
  return summarize(values.map((value, round) => value / (references[round] as number)));
}

/** Distance between the extremes as a share of the median: 0.1 is 10 %. */
export function spread({ median, min, max }: Summary): number {
  return (max - min) / median;
}

/** Percentiles of waiting times, in milliseconds. */
export interface Latency {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
}

/** Throws RangeError for no values. */
export function latencyOf(milliseconds: readonly number[]): Latency {
  const sorted = [...milliseconds].sort((a, b) => a - b);
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99), p999: percentile(sorted, 0.999) };
}

/** Nearest rank: the smallest value that `share` of the values do not exceed. */
function percentile(sorted: readonly number[], share: number): number {
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  if (value === undefined) throw new RangeError('there is nothing to summarize');
  return value;
}

/** Steps per doubling: a percentile is off by a fifth at worst, mostly by far less. */
const PER_OCTAVE = 4;
/** Upper end of the first bucket, in milliseconds. */
const SMALLEST = 0.1;

/** Buckets of a logarithmic histogram from 0.1 ms to almost three minutes. */
export const LATENCY_BUCKETS = 84;

/** The bucket of a duration in milliseconds. */
export function bucketOf(ms: number): number {
  if (!(ms > SMALLEST)) return 0;
  return Math.min(LATENCY_BUCKETS - 1, Math.floor(Math.log2(ms / SMALLEST) * PER_OCTAVE) + 1);
}

/**
 * The duration in milliseconds below which the share `q` of a histogram lies; null for an empty one. `offset` is where
 * the histogram's first bucket stands in `counts`.
 */
export function quantileOf(counts: ArrayLike<number>, offset: number, q: number): number | null {
  let total = 0;
  for (let i = 0; i < LATENCY_BUCKETS; i++) total += counts[offset + i] ?? 0;
  if (total === 0) return null;
  let rank = q * total;
  for (let i = 0; i < LATENCY_BUCKETS; i++) {
    const count = counts[offset + i] ?? 0;
    if (count > 0 && rank <= count) return floorOf(i) + (floorOf(i + 1) - floorOf(i)) * (rank / count);
    rank -= count;
  }
  return floorOf(LATENCY_BUCKETS);
}

function floorOf(bucket: number): number {
  return bucket === 0 ? 0 : SMALLEST * 2 ** ((bucket - 1) / PER_OCTAVE);
}

import { z } from 'zod';

const DURATION_UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const SIZE_UNITS = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const;

function withUnit<U extends Record<string, number>>(units: U, pattern: RegExp, expected: string) {
  return z.string().transform((text, context) => {
    const match = pattern.exec(text);
    const factor = match?.[2] === undefined ? undefined : units[match[2]];
    if (match?.[1] === undefined || factor === undefined) {
      context.addIssue({ code: 'custom', message: `expected ${expected}` });
      return z.NEVER;
    }
    return Math.round(Number(match[1]) * factor);
  });
}

/** `250ms`, `30s`, `5m`, `12h`, `7d` → milliseconds. */
export const duration = withUnit(
  DURATION_UNITS,
  /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/,
  'a duration such as 250ms, 30s, 5m, 12h or 7d',
);

/** A duration that is not zero. */
export const positiveDuration = duration.refine((ms) => ms > 0, { message: 'expected a duration longer than zero' });

/** `512B`, `64KiB`, `16MiB`, `1GiB` → bytes. */
export const size = withUnit(
  SIZE_UNITS,
  /^(\d{1,9}(?:\.\d{1,3})?)(B|KiB|MiB|GiB)$/,
  'a size such as 512B, 64KiB or 16MiB',
);

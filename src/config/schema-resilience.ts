import { z } from 'zod';
import { positiveDuration } from './units.ts';

const share = z.number().min(0).max(1);

/** The keys of an upstream about what happens when it fails. */
export const resilience = {
  breaker: z
    .strictObject({
      failures: z.number().int().min(1).max(1_000_000).prefault(5).describe('Failures in a row that open it.'),
      ratio: share
        .refine((value) => value > 0, { message: 'expected a share above 0, such as 0.5' })
        .prefault(0.5)
        .describe('Share of failures among the attempts of the last ten seconds that opens it.'),
      volume: z
        .number()
        .int()
        .min(1)
        .prefault(20)
        .describe('Attempts of the last ten seconds that make a share count.'),
      open: positiveDuration
        .prefault('1s')
        .describe('How long it stays open at first; doubled after a trial that fails.'),
      longestOpen: positiveDuration.prefault('30s').describe('How long it stays open at most.'),
    })
    .prefault({})
    .refine(({ open, longestOpen }) => open <= longestOpen, {
      message: 'open is longer than longestOpen',
      path: ['open'],
    })
    .describe(
      'Takes an endpoint that fails out of use. Open, it gets no requests; then one at a time until one succeeds.',
    ),
  retries: z
    .strictObject({
      ratio: share.prefault(0.2).describe('Share of the requests of ten seconds that may be sent again.'),
      minimum: z.number().int().min(0).prefault(10).describe('Retries in ten seconds that are allowed besides.'),
    })
    .prefault({})
    .describe('Budget of retries after failures, so that an outage does not multiply the load.'),
  health: z
    .strictObject({
      path: z
        .string()
        .regex(/^\/[\x21\x22\x24-\x7e]*$/, 'expected a path such as /v2')
        .prefault('/')
        .describe('Path of an unsigned GET; any answer below 500 will do.'),
      interval: positiveDuration.prefault('5s').describe('Between two of them.'),
      timeout: positiveDuration.prefault('2s').describe('For its answer to begin.'),
    })
    .optional()
    .describe('Asks endpoints that are out of use whether they are well. Left out, a request of a user finds out.'),
  followClock: z
    .boolean()
    .prefault(true)
    .describe('Sign in the upstream’s time where its clock, by its Date headers, is more than 30 s off.'),
};

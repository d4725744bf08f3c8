import { z } from 'zod';
import { DIALECTS, type DialectName } from '../signing/dialect.ts';
import { positiveDuration } from './units.ts';

export const DIALECT_NAMES = Object.keys(DIALECTS) as [DialectName, ...DialectName[]];

export const secretFromEnv = z.strictObject({
  env: z.string().min(1).describe('Name of an environment variable that holds the secret.'),
});
export const secretFromFile = z.strictObject({
  file: z.string().min(1).describe('Path of a file that holds the secret; a final newline is dropped.'),
});

export const secret = z
  .union([z.string().min(1), secretFromEnv, secretFromFile])
  .describe('A secret: { env: NAME }, { file: path }, or the text itself (warned about).');

/** A certificate chain with its private key. */
export const tlsIdentity = z.strictObject({
  cert: z.string().min(1).describe('Path of the certificate chain, PEM, the certificate itself first.'),
  key: secret.describe('Its private key, PEM: { file: path } or { env: NAME }.'),
});

export const name = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/i, 'expected letters, digits, ".", "_" or "-", at most 63 characters');

export const port = z.number().int().min(0).max(65_535);

export const rate = z.strictObject({
  requests: z.number().int().min(1).describe('Requests allowed in the window.'),
  per: positiveDuration.describe('Length of the window.'),
});

export const origin = z.string().transform((text, context) => {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.origin !== text.toLowerCase().replace(/\/$/, '')) {
    context.addIssue({
      code: 'custom',
      message: 'expected an origin such as https://console.example (no path, no default port)',
    });
    return z.NEVER;
  }
  return url.origin;
});

export const pathPrefix = z
  .string()
  .regex(
    /^\/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]+(?:\/[A-Za-z0-9._~!$&'()*+,;=:@-]+)*)?$/,
    'expected a path such as /v2, without a trailing slash, "//" or percent-encoding',
  )
  .refine((path) => !path.split('/').some((segment) => segment === '.' || segment === '..'), {
    message: 'expected a path without dot segments',
  });

export const accessKey = z
  .string()
  .min(1)
  .max(256)
  .refine((text) => ![...text].some((char) => char <= ' ' || char === ':' || char === ',' || char === '\u007f'), {
    message: 'expected an access key without spaces, ":" or ","',
  });

export type SecretSource = z.output<typeof secret>;

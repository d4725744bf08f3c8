import { z } from 'zod';
import { DIALECTS, type Dialect } from '../signing/dialect.ts';
import { CliError, readAll } from './command.ts';

const base64 = z
  .string()
  .refine((text) => Buffer.from(text, 'base64').toString('base64').replace(/=+$/, '') === text.replace(/=+$/, ''), {
    message: 'expected base64',
  });

const brand = z
  .object({
    headerPrefix: z.string().min(1),
    scheme: z.string().regex(/^[^\s,]+$/, 'expected an authorization scheme'),
    bodyHash: z.enum(['body', 'empty']).default('body'),
    contentType: z.enum(['full', 'mime']).default('full'),
    dateLine: z.enum(['basic', 'verbatim']).default('basic'),
  })
  .default(DIALECTS.service);

/** One request to sign or verify, in the shape of the golden vectors; what else an object carries is ignored. */
export const signingItem = z.object({
  request: z.object({
    method: z.string().regex(/^[A-Za-z]+$/, 'expected an HTTP method'),
    uri: z.string().startsWith('/', 'expected a path with its query string, such as /v2?a=1'),
    date: z.string().min(1),
    host: z.string().min(1),
    contentType: z.string(),
    version: z.string().min(1),
    bodyBase64: base64.default(''),
  }),
  keypair: z.object({ accessKey: z.string().min(1), secretKey: z.string().min(1) }),
  brand,
});

export type SigningItem = z.output<typeof signingItem>;

export function dialectOf(item: SigningItem): Dialect {
  return item.brand;
}

/**
 * Reads one JSON object, or an array of them, from a stream. Throws `CliError` (exit 2) naming the first bad field of
 * each bad object; a message never repeats a value, which may be a secret.
 */
export async function readItems<S extends z.ZodType>(
  stream: NodeJS.ReadableStream,
  schema: S,
): Promise<{ items: z.output<S>[]; isArray: boolean }> {
  const text = await readAll(stream);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new CliError(
      text.trim() === '' ? 'nothing on stdin: expected a JSON object or array' : 'stdin is no valid JSON',
    );
  }
  const isArray = Array.isArray(value);
  const candidates: unknown[] = Array.isArray(value) ? value : [value];
  const results = candidates.map((candidate) => schema.safeParse(candidate));
  const faults = results.flatMap((result, index) =>
    result.success
      ? []
      : result.error.issues.map((issue) => {
          const place = [...(isArray ? [`[${index}]`] : []), ...issue.path.map(String)].join('.');
          return `${place === '' ? 'stdin' : place}: ${issue.message}`;
        }),
  );
  if (faults.length > 0) throw new CliError(faults.join('\n'));
  return { items: results.map((result) => result.data as z.output<S>), isArray };
}

import { z } from 'zod';
import { accessKey, secret } from './schema-values.ts';

const EXPECTED = 'expected a date with its time zone, such as 2026-11-21T10:00:00Z, or a day, such as 2026-11-21 (UTC)';

/** An ISO 8601 date → epoch milliseconds. A time without a zone is refused: two readers would mean two instants. */
const instant = z.string().transform((text, context) => {
  if (!z.iso.date().safeParse(text).success && !z.iso.datetime({ offset: true }).safeParse(text).success) {
    context.addIssue({ code: 'custom', message: `${EXPECTED}; found ${JSON.stringify(text)}` });
    return z.NEVER;
  }
  return Date.parse(text);
});

const keypair = z.strictObject({
  accessKey: accessKey.describe('Names the keypair to the Service.'),
  secretKey: secret.describe('Signs the requests. Never leaves the gateway.'),
});

const member = keypair.extend({
  state: z
    .enum(['next', 'active', 'retired'])
    .prefault('active')
    .describe('next: signs from notBefore on, or as soon as no active keypair can. retired: never signs.'),
  notBefore: instant.optional().describe('Signs from then on. Of several that may sign, the one that came last does.'),
  notAfter: instant.optional().describe('Signs no longer from then on.'),
});

/** A role's keypair, or its ring of keypairs. */
export const keypairs = z.union([keypair, z.array(member).min(1)]);

export type KeypairsConfig = z.output<typeof keypairs>;

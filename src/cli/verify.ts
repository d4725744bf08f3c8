import { createHash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { Secret } from '../secret.ts';
import { parseDate } from '../signing/date.ts';
import { DayKeyCache } from '../signing/day-key.ts';
import { verify } from '../signing/verify.ts';
import { Keypair } from '../tenant.ts';
import { type Command, EXIT } from './command.ts';
import { dialectOf, readItems, signingItem } from './signing-input.ts';

const verifyItem = signingItem.extend({
  authorization: z.string(),
  now: z
    .union([z.string(), z.number()])
    .transform((value, context) => {
      const instant = typeof value === 'number' ? value : parseDate(value);
      if (instant !== undefined) return instant;
      context.addIssue({ code: 'custom', message: 'expected a date, or epoch milliseconds' });
      return z.NEVER;
    })
    .optional(),
});

export const verifyCommand: Command = {
  name: 'verify',
  summary: 'verify signed requests given as JSON on stdin',
  help: `Usage: countersign verify < signed.json

Reads what \`countersign sign\` reads, each object with an "authorization" header and,
if the 15-minute clock rule is to be applied, "now" (a date or epoch milliseconds).
Prints {"ok": true} or {"ok": false, "reason": …} for each as JSON.

Reasons: authorization-missing, authorization-malformed, date-invalid, version-missing,
clock-skew, access-key-unknown, signature-mismatch.

Options:
  --help   this text

Examples:
  countersign verify < signed.json

Exit codes: 0 all are ok, 1 at least one is not, 2 bad input (the message names the field).
`,
  async run(args, terminal) {
    parseArgs({ args: [...args], options: {} });
    const { items, isArray } = await readItems(terminal.stdin, verifyItem);
    const verdicts = items.map((item) => {
      const { request, keypair, authorization, now } = item;
      const known = new Keypair(keypair.accessKey, new Secret(keypair.secretKey));
      const lookup = (accessKey: string) => (accessKey === known.accessKey ? known : undefined);
      const bodyHash = createHash('sha256').update(Buffer.from(request.bodyBase64, 'base64')).digest('hex');
      const received = { ...request, bodyHash, authorization: authorization === '' ? undefined : authorization };
      const verdict = verify(dialectOf(item), new DayKeyCache(1), lookup, received, now);
      return verdict.ok ? { ok: true } : { ok: false, reason: verdict.reason };
    });
    terminal.stdout.write(`${JSON.stringify(isArray ? verdicts : verdicts[0], null, 2)}\n`);
    return verdicts.every(({ ok }) => ok) ? EXIT.ok : EXIT.failed;
  },
};

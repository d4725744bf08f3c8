import { createHash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { stringToSign } from '../signing/canonical.ts';
import { parseDate, stampOf } from '../signing/date.ts';
import { deriveSigningKey } from '../signing/day-key.ts';
import { HmacKey } from '../signing/hmac.ts';
import { authorizationHeader } from '../signing/sign.ts';
import { CliError, type Command, EXIT } from './command.ts';
import { dialectOf, readItems, type SigningItem, signingItem } from './signing-input.ts';

export const signCommand: Command = {
  name: 'sign',
  summary: 'sign requests given as JSON on stdin',
  help: `Usage: countersign sign [--explain] < request.json

Reads one JSON object, or an array of them, from stdin:
  {"request": {"method", "uri", "date", "host", "contentType", "version", "bodyBase64"},
   "keypair": {"accessKey", "secretKey"},
   "brand":   {"headerPrefix": "X-Service-", "scheme": "Service"}}
and writes for each {"dateStamp", "bodyHash", "signingKey", "stringToSign", "signature",
"authorization"} as JSON to stdout. Mind that signingKey signs anything for a day.

Options:
  --explain   print the string to sign, line by line, instead; no secret and no signing key
  --help      this text

Examples:
  countersign sign --explain < request.json

Exit codes: 0 signed, 2 bad input (the message names the field).
`,
  async run(args, terminal) {
    const { values } = parseArgs({ args: [...args], options: { explain: { type: 'boolean', default: false } } });
    const { items, isArray } = await readItems(terminal.stdin, signingItem);
    const signed = items.map((item, index) => signItem(item, isArray ? `[${index}].` : ''));
    if (values.explain) {
      terminal.stdout.write(signed.map((one, index) => explain(one, items[index] as SigningItem)).join('\n'));
    } else {
      terminal.stdout.write(`${JSON.stringify(isArray ? signed : signed[0], null, 2)}\n`);
    }
    return EXIT.ok;
  },
};

interface Signed {
  readonly dateStamp: string;
  readonly bodyHash: string;
  readonly signingKey: string;
  readonly stringToSign: string;
  readonly signature: string;
  readonly authorization: string;
}

function signItem(item: SigningItem, place: string): Signed {
  const { request, keypair } = item;
  const instant = parseDate(request.date.trim());
  if (instant === undefined) throw new CliError(`${place}request.date: expected an ISO 8601 or RFC 822 date`);
  const { basic, day } = stampOf(instant);
  const dialect = dialectOf(item);
  const bodyHash = createHash('sha256').update(Buffer.from(request.bodyBase64, 'base64')).digest('hex');
  const key = deriveSigningKey(keypair.secretKey, day, request.host);
  const text = stringToSign(dialect, { ...request, bodyHash }, basic);
  const signature = new HmacKey(key).hex(text);
  return {
    dateStamp: basic,
    bodyHash,
    signingKey: key.toString('hex'),
    stringToSign: text,
    signature,
    authorization: authorizationHeader(dialect, keypair.accessKey, signature),
  };
}

const LINES = ['method', 'URI', 'date', 'host', 'content type', 'version', 'body hash'];

function explain(signed: Signed, item: SigningItem): string {
  const lines = signed.stringToSign
    .split('\n')
    .map((line, i) => `  ${(LINES[i] ?? '').padEnd(13)}${JSON.stringify(line)}`);
  const { headerPrefix } = dialectOf(item);
  return [
    'String to sign, its lines joined by one newline (LF):',
    ...lines,
    'Signing key: HMAC-SHA256(HMAC-SHA256(secret key, day), host), not shown',
    `  ${'day'.padEnd(13)}${JSON.stringify(signed.dateStamp.slice(0, 8))}`,
    `  ${'host'.padEnd(13)}${JSON.stringify(item.request.host.trim())}`,
    'Headers:',
    `  Date: ${signed.dateStamp}`,
    `  ${headerPrefix}Date: ${signed.dateStamp}`,
    `  ${headerPrefix}Version: ${item.request.version.trim()}`,
    `  Authorization: ${signed.authorization}`,
    '',
  ].join('\n');
}

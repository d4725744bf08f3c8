import { z } from 'zod';
import { PROBLEM_CODES } from '../problem.ts';

const tenant = z.string().describe('Name of the tenant.');
const subject = z.string().describe('Name of the user; absent for an anonymous visitor.');
const client = z.string().describe('Address of the client, as the trusted proxies tell it.');
const requestId = z.string().describe('Id of the request, as in the request log and in the `instance` of a problem.');
const sessionHash = z
  .string()
  .regex(/^[A-Za-z0-9_-]{16}$/)
  .describe('Tells sessions apart. Made from the store key by hashing it again: it neither opens nor ends a session.');
const code = z.enum(PROBLEM_CODES).describe('Code of the problem that was answered.');
const count = z.number().int().min(1);
const accessKey = z.string().describe('Access key of a keypair; never its secret key.');

function line<Name extends string, Shape extends z.core.$ZodShape>(event: Name, about: string, shape: Shape) {
  return z
    .strictObject({ time: z.iso.datetime().describe('When it was recorded, UTC.'), event: z.literal(event), ...shape })
    .describe(about);
}

/** Where a request came from: what all events of a tenant's front end have in common. */
const ofCaller = { tenant, subject: subject.optional(), client, requestId };

/** One line of the audit log. Types, documentation and `config/audit.schema.json` all come from here. */
export const auditLineSchema = z.discriminatedUnion('event', [
  line('login', 'A session was opened.', {
    ...ofCaller,
    sessionHash,
    detail: z.strictObject({ method: z.string().describe('Login method.'), roles: z.array(z.string()) }),
  }),
  line('login-failed', 'Credentials were refused, or there had been too many attempts.', {
    ...ofCaller,
    subject: subject
      .describe('The user name, only where it is one of the tenant’s: any other may be a mistyped password.')
      .optional(),
    code,
    detail: z.strictObject({ method: z.string() }),
  }),
  line('logout', 'A user ended the session by signing out of it.', { ...ofCaller, sessionHash }),
  line('revocation', 'A session, or several at once, was ended from elsewhere than by signing out of it.', {
    tenant,
    subject: subject.optional(),
    client: client.optional(),
    requestId: requestId.optional(),
    sessionHash: sessionHash.describe('The session that was ended, where it was a single one.').optional(),
    detail: z.strictObject({
      by: z
        .enum(['user', 'login', 'operator'])
        .describe('user: from another session of the same user. login: replaced by a new session of the same browser.'),
      scope: z.enum(['one', 'others', 'subject', 'tenant']).describe('others: all of the user’s but the current one.'),
      count: z.number().int().min(0).describe('Sessions ended.'),
    }),
  }),
  line('refusal', 'The gateway refused a request by its rules.', {
    ...ofCaller,
    tenant: tenant.describe('Absent where the request was refused before its tenant was known.').optional(),
    sessionHash: sessionHash.optional(),
    code,
    detail: z.strictObject({
      kind: z.enum(['http', 'upgrade']),
      method: z.string(),
      path: z.string().max(256).describe('Without its query string.').optional(),
      role: z.string().optional(),
      reason: z.string(),
    }),
  }),
  line('suppressed', 'Further lines of one event, code and tenant that were counted instead of written.', {
    tenant: tenant.optional(),
    code,
    detail: z.strictObject({
      event: z.enum(['refusal', 'login-failed']),
      count,
      seconds: z.number().int().min(1).describe('Length of the window they were counted in.'),
    }),
  }),
  line('reload', 'The configuration was read again.', {
    detail: z.strictObject({
      ok: z.boolean().describe('false: it had faults, and the old one stays in force.'),
      reason: z.string().describe('What asked for it, e.g. SIGHUP, file changed.'),
      faults: z.number().int().min(0).describe('Number of faults.'),
      added: z.array(tenant).describe('Tenants that are new.'),
      removed: z.array(tenant).describe('Tenants that are no more.'),
    }),
  }),
  line('rotation', 'A role’s requests are signed with another keypair of its ring from now on.', {
    tenant,
    requestId,
    detail: z.strictObject({ role: z.string(), from: accessKey, to: accessKey }),
  }),
  line('keypair-refused', 'The Service refused a keypair; it is set aside.', {
    tenant,
    requestId,
    detail: z.strictObject({
      role: z.string(),
      accessKey,
      until: z.iso.datetime().describe('When it will be tried again.'),
      replacedBy: accessKey.describe('Signs in its place. Absent: no other valid keypair is left.').optional(),
    }),
  }),
  line('keypair-accepted', 'The Service accepts a keypair again that it had refused.', {
    tenant,
    requestId,
    detail: z.strictObject({ role: z.string(), accessKey }),
  }),
  line('operator-action', 'Somebody acted through the operator listener.', {
    tenant: tenant.optional(),
    subject: subject.describe('The user whom it was about.').optional(),
    client,
    requestId: requestId.optional(),
    sessionHash: sessionHash.optional(),
    detail: z.strictObject({
      action: z.string().describe('e.g. reload, log-level, end-session, end-sessions.'),
      outcome: z.enum(['done', 'refused', 'failed']),
      target: z.string().describe('What it was about, e.g. the new log level; never a secret.').optional(),
    }),
  }),
  line('lost', 'Lines that could not be written: the file was out of reach for longer than they could be held.', {
    detail: z.strictObject({ count }),
  }),
]);

export type AuditLine = z.output<typeof auditLineSchema>;

type Recorded<Line> = Line extends { sessionHash: string }
  ? Omit<Line, 'time' | 'sessionHash'> & { session: string }
  : Line extends { sessionHash?: string | undefined }
    ? Omit<Line, 'time' | 'sessionHash'> & { session?: string | undefined }
    : Omit<Line, 'time'>;

/**
 * What is recorded. The time is added; where the line has a `sessionHash` the event has `session`, the store key, which
 * is hashed before it is written.
 */
export type AuditEvent = Recorded<Exclude<AuditLine, { event: 'suppressed' | 'lost' }>>;

/** The JSON Schema (2020-12) of a line, as committed in `config/audit.schema.json`. */
export function auditJsonSchema(): object {
  return { title: 'One line of the Countersign audit log', ...z.toJSONSchema(auditLineSchema) };
}

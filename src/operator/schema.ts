import { z } from 'zod';
import { LOG_LEVELS } from '../observe/log.ts';

/** The documents of the operator API: their types and, in the OpenAPI document, their description come from here. */

const instant = z.iso.datetime().describe('RFC 3339, UTC.');
const count = z.number().int().min(0);
const milliseconds = z.number().min(0);

export const sessionDocument = z.strictObject({
  id: z.string().describe('Names the session; does not open it.'),
  tenant: z.string(),
  subject: z.string().nullable().describe('Null for an anonymous visitor.'),
  roles: z.array(z.string()),
  method: z.string().describe('The login method that opened it.'),
  createdAt: instant,
  seenAt: instant,
  expiresAt: instant,
  idleExpiresAt: instant,
});
export const sessionList = z.strictObject({
  sessions: z.array(sessionDocument),
  total: count.describe('Of all that match; the list holds the newest of them.'),
});
export const ended = z.strictObject({ ended: count });

export const tenantDocument = z.strictObject({
  name: z.string(),
  origins: z.array(z.string()),
  roles: z.array(z.string()),
  loginMethods: z.array(z.string()),
  upstream: z.strictObject({ endpoints: z.array(z.string()), version: z.string(), mount: z.string() }),
  routes: z.array(z.strictObject({ path: z.string(), methods: z.array(z.string()), roles: z.array(z.string()) })),
});
export const tenantList = z.strictObject({ tenants: z.array(tenantDocument) });

export const quotaDocument = z
  .strictObject({ limit: z.string(), remaining: z.string(), reset: z.string() })
  .describe('X-RateLimit-* of the upstream’s newest answer to this keypair, verbatim.');
export const keypairDocument = z.strictObject({
  tenant: z.string(),
  role: z.string(),
  accessKey: z.string(),
  state: z.enum(['next', 'active', 'retired']),
  valid: z.boolean().describe('Not retired, and between its dates.'),
  current: z.boolean().describe('What the next request of the role is signed with.'),
  setAsideUntil: instant.nullable().describe('Set aside until then because the Service refused it.'),
  quota: quotaDocument.nullable().describe('Null before the first answer.'),
});
export const keypairList = z.strictObject({ keypairs: z.array(keypairDocument) });

export const quotaRow = z.strictObject({
  tenant: z.string(),
  role: z.string(),
  accessKey: z.string(),
  limit: count.nullable(),
  remaining: count.nullable(),
  reset: z.string().nullable().describe('Verbatim: its unit is the upstream’s business.'),
});
export const quotaList = z.strictObject({ quotas: z.array(quotaRow) });

const breakerState = z.enum(['closed', 'half-open', 'open']);
const clockState = z
  .enum(['ok', 'off', 'alarm'])
  .describe('off: more than 30 s from ours. alarm: more than 5 min. Signatures are made in its time then.');

export const endpointDocument = z.strictObject({
  origin: z.string(),
  tenants: z.array(z.string()),
  up: z.boolean().describe('Answered a moment ago, or takes connections now.'),
  cooling: z.boolean().describe('Tried last for the moment, because it could not be reached.'),
  breaker: z.strictObject({
    state: breakerState.describe('open: out of use after failures. half-open: one request at a time tries it.'),
    since: instant.nullable().describe('Null when it never was anything but closed.'),
    opened: count.describe('How often, since the start.'),
  }),
  retries: z
    .strictObject({ sent: count, denied: count })
    .describe('After failures here, since the start; denied where the budget was used up.'),
  pending: count.describe('Attempts under way.'),
  attempts: z
    .strictObject({ answered: count, unreachable: count, failed: count, abandoned: count })
    .describe('So far, by how they ended; abandoned by the client.'),
  lastAnswerAt: instant.nullable(),
  lastFailure: z.strictObject({ at: instant, kind: z.enum(['unreachable', 'failed']) }).nullable(),
  skew: z
    .strictObject({ ms: z.number(), uncertainty: milliseconds })
    .nullable()
    .describe(
      'Its clock minus ours in milliseconds, estimated from Date headers, true within plus or minus uncertainty.',
    ),
  clock: z.strictObject({
    state: clockState,
    offset: z.number().describe('Milliseconds added to our time in signatures.'),
  }),
});
export const endpointList = z.strictObject({ endpoints: z.array(endpointDocument) });

export const reloadDocument = z.strictObject({
  at: instant,
  ok: z.boolean(),
  reason: z.string(),
  faults: z.array(z.strictObject({ file: z.string(), line: count, path: z.string(), message: z.string() })),
});

export const logLevel = z.strictObject({ level: z.enum(LOG_LEVELS) });

export const liveness = z.strictObject({ status: z.literal('alive') });
const readyOrNot = z.enum(['ready', 'not-ready']);
export const readiness = z.strictObject({
  status: readyOrNot,
  checks: z.strictObject({
    process: z.enum(['starting', 'ready', 'draining', 'stopped']),
    sessionStore: z.enum(['up', 'down']),
    configuration: z.enum(['ok', 'failed']).describe('failed: the last reload had faults, the one before is in force.'),
    upstreams: z.enum(['up', 'some', 'down']).describe('Of all tenants, some, or none has an endpoint that is up.'),
  }),
  tenants: z.record(
    z.string(),
    z.strictObject({
      status: readyOrNot,
      upstream: z.enum(['up', 'down']),
      breaker: breakerState.describe('Of the endpoint that is best off; open: requests get 503.'),
      clock: clockState.describe('Of the endpoint whose clock is worst.'),
    }),
  ),
});

export const problem = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  instance: z.string().describe('The id of the request.'),
});

const percentile = milliseconds.nullable().describe('Milliseconds; null where nothing was measured.');
const traffic = {
  requests: count,
  clientErrors: count.describe('Answered with a 4xx, by the gateway or the upstream.'),
  serverErrors: count.describe('Answered with a 5xx, or broken midway.'),
  p50: percentile,
  p95: percentile,
  p99: percentile,
};
const trafficHistory = Object.fromEntries(Object.entries(traffic).map(([name, schema]) => [name, z.array(schema)])) as {
  [Name in keyof typeof traffic]: z.ZodArray<(typeof traffic)[Name]>;
};
export const statusDocument = z.strictObject({
  at: instant,
  startedAt: instant,
  version: z.string(),
  node: z.string(),
  ready: z.boolean(),
  checks: readiness.shape.checks,
  traffic: z.strictObject({
    total: z.strictObject({ requests: count, clientErrors: count, serverErrors: count }).describe('Since the start.'),
    lastTenSeconds: z.strictObject(traffic),
    lastMinute: z.strictObject(traffic),
    history: z
      .strictObject({ step: z.number().describe('Seconds.'), ...trafficHistory })
      .describe('The last five minutes, oldest first: one entry per step in each list.'),
  }),
  tenants: z.array(
    z.strictObject({
      name: z.string(),
      ready: z.boolean(),
      sessions: count.nullable().describe('Null when the store does not answer.'),
      lastMinute: z.strictObject(traffic),
      history: z.array(count).describe('Requests of the last minute in steps of two seconds.'),
    }),
  ),
  refusals: z.array(
    z.strictObject({ code: z.string(), status: count, recent: count.describe('In five minutes.'), total: count }),
  ),
  failures: z.array(
    z.strictObject({
      requestId: z.string(),
      at: instant,
      tenant: z.string().nullable(),
      method: z.string(),
      route: z.string().nullable(),
      status: count,
      code: z.string().nullable(),
      reason: z.string().nullable(),
    }),
  ),
  keypairs: z.array(keypairDocument.extend({ limit: count.nullable(), remaining: count.nullable() })),
  endpoints: z.array(endpointDocument),
  sessions: z.strictObject({
    store: z.enum(['memory', 'redis']),
    total: count.nullable(),
    created: count,
    ended: count,
    streams: count.describe('Live WebSockets and event streams.'),
    nearCache: z
      .strictObject({
        up: z.boolean().describe('False while it is bypassed because changes would not be heard of.'),
        entries: count,
        hits: count,
        misses: count,
      })
      .nullable()
      .describe('Null where there is none.'),
  }),
  reload: reloadDocument.nullable().describe('The newest; its reason is start when there has been none since.'),
  process: z.strictObject({
    eventLoopDelayMs: milliseconds.describe('99th percentile of the last minute or so.'),
    cpu: z.number().min(0).describe('Share of one core.'),
    rss: count.describe('Bytes.'),
    logLevel: z.enum(LOG_LEVELS),
  }),
});

export type TenantDocument = z.output<typeof tenantDocument>;
export type SessionDocument = z.output<typeof sessionDocument>;
export type EndpointDocument = z.output<typeof endpointDocument>;
export type KeypairDocument = z.output<typeof keypairDocument>;
export type ReloadDocument = z.output<typeof reloadDocument>;
export type StatusDocument = z.output<typeof statusDocument>;

import { z } from 'zod';
import { bodies } from './schema-bodies.ts';
import { tenantSchema } from './schema-tenant.ts';
import {
  accessKey,
  DIALECT_NAMES,
  name,
  port,
  rate,
  secret,
  secretFromEnv,
  secretFromFile,
  tlsIdentity,
} from './schema-values.ts';
import { duration, positiveDuration, size } from './units.ts';

const service = z.strictObject({
  host: z.string().min(1).prefault('127.0.0.1'),
  port: port.prefault(8081),
  version: z
    .string()
    .regex(/^v\d+\.\d{8}$/)
    .prefault('v4.20190315')
    .describe('Latest version it answers with.'),
  dialect: z.enum(DIALECT_NAMES).prefault('service'),
  rateLimit: rate.prefault({ requests: 30_000, per: '15m' }).describe('Rolling window per access key.'),
  keypairs: z
    .array(
      z.strictObject({
        accessKey,
        secretKey: secret,
        admin: z.boolean().prefault(false).describe('Administrator privilege.'),
      }),
    )
    .min(1)
    .describe('The master dummy pairs.'),
});

/** The configuration file. Types, defaults, documentation and `config/schema.json` all come from here (design: one source). */
export const configSchema = z.strictObject({
  listen: z
    .strictObject({
      host: z.string().min(1).prefault('127.0.0.1').describe('Address of the public listener.'),
      port: port.prefault(8080),
      trustProxies: z
        .array(
          z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()], 'expected an address or a block such as 10.0.0.0/8'),
        )
        .prefault([])
        .describe('Proxies in front whose X-Forwarded-For and X-Forwarded-Proto are believed.'),
      headerTimeout: positiveDuration.prefault('10s').describe('For the whole request head to arrive.'),
      requestTimeout: duration.prefault('5m').describe('For the whole request to arrive.'),
      keepAlive: positiveDuration.prefault('65s').describe('Idle time before a kept connection is closed.'),
      maxHeaderSize: size.prefault('16KiB').describe('Request line and headers together.'),
      maxHeaders: z.number().int().min(10).max(2000).prefault(100).describe('Number of request headers.'),
      tls: z
        .strictObject({
          certificates: z
            .array(tlsIdentity)
            .min(1)
            .describe('Chosen by the name the browser asks for; the first where none is for it.'),
          clientCa: z
            .string()
            .min(1)
            .optional()
            .describe('Path of the authority of client certificates, PEM. Who has none is not let in; mTLS.'),
          minVersion: z.enum(['TLSv1.2', 'TLSv1.3']).prefault('TLSv1.2'),
        })
        .optional()
        .describe('HTTPS, with HTTP/2 and HTTP/1.1 on the one port. Plain HTTP/1.1 when left out.'),
    })
    .prefault({})
    .describe('The public listener.'),
  operator: z
    .strictObject({
      host: z.string().min(1).prefault('127.0.0.1'),
      port: port.prefault(9090),
      token: secret
        .optional()
        .describe('Bearer token, needed where the host is not loopback and no clientCa is given.'),
      tls: z
        .strictObject({
          ...tlsIdentity.shape,
          clientCa: z.string().min(1).optional().describe('Path of the authority of client certificates, PEM; mTLS.'),
        })
        .optional(),
    })
    .optional()
    .describe('The operators’ listener: API, health, metrics and status page. Not opened when left out.'),
  sessions: z
    .strictObject({
      store: z
        .union([
          z
            .string()
            .regex(/^(?:memory|rediss?:\/\/\S+)$/, 'expected memory, redis://host:port/db or rediss://host:port/db'),
          secretFromEnv,
          secretFromFile,
        ])
        .prefault('memory')
        .describe('memory, or redis:// or rediss:// URL; a URL with a password belongs in { env } or { file }.'),
      idle: positiveDuration.prefault('30m').describe('Ends a session when unused for so long.'),
      absolute: positiveDuration.prefault('12h').describe('Ends a session however busy it is.'),
      sealKeys: z
        .array(secret)
        .prefault([])
        .describe('Base64 of 32 random bytes each. Records in the store are encrypted with the first; all can read.'),
      nearCache: z
        .strictObject({
          entries: z
            .number()
            .int()
            .min(0)
            .max(10_000_000)
            .refine((entries) => entries !== 1, { message: 'expected 0 (off) or at least 2' })
            .prefault(10_000)
            .describe('Sessions kept in the memory of each process; 0 turns it off.'),
          maxAge: positiveDuration
            .prefault('30s')
            .describe('Reads a session anew after so long, though Redis told of no change.'),
        })
        .prefault({})
        .describe('Sessions of a Redis store kept in memory too; Redis itself tells when one has changed.'),
    })
    .prefault({})
    .describe('Sessions and where they are kept.'),
  limits: z
    .strictObject({
      address: rate.prefault({ requests: 6000, per: '1m' }).describe('Requests per client address.'),
      session: rate.prefault({ requests: 3000, per: '1m' }).describe('Requests per session.'),
      tenant: rate.optional().describe('Requests per tenant; no limit when left out.'),
      sessionCreation: rate.prefault({ requests: 300, per: '1m' }).describe('New sessions per client address.'),
      failedLogins: z
        .strictObject({
          perUser: z.number().int().min(1).prefault(5).describe('Per user name and client address.'),
          perAddress: z.number().int().min(1).prefault(50).describe('Per client address.'),
          per: positiveDuration.prefault('15m').describe('Length of the window.'),
        })
        .prefault({})
        .describe('Failed logins.'),
    })
    .prefault({})
    .describe('Limits of the edge itself.'),
  bodies,
  workers: z
    .union([z.literal('auto'), z.number().int().min(1).max(256)], 'expected auto or a whole number from 1 to 256')
    .prefault(1)
    .describe('Processes that serve requests, or auto: one per processor core. 1 starts no further process.'),
  drain: duration.prefault('10s').describe('Time for requests in flight to finish after SIGTERM.'),
  log: z
    .strictObject({
      level: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).prefault('info'),
    })
    .prefault({})
    .describe('The request log, one JSON line per request on stdout.'),
  audit: z
    .strictObject({
      file: z.string().min(1).describe('Path of a file that lines are appended to, or stdout or stderr.'),
      refusals: rate
        .prefault({ requests: 60, per: '1m' })
        .describe('Lines per code and tenant for refusals and failed logins; what exceeds it is counted in one line.'),
    })
    .optional()
    .describe('The audit log, one JSON line per event (config/audit.schema.json); none is kept when left out.'),
  tenants: z
    .record(name, tenantSchema)
    .refine((tenants) => Object.keys(tenants).length > 0, { message: 'expected at least one tenant' }),
  service: service.optional().describe('Starts the reference Service beside the gateway, for demos, tests and CI.'),
});

export type Config = z.output<typeof configSchema>;

/** The JSON Schema (2020-12) of the configuration file, as committed in `config/schema.json`. */
export function jsonSchema(): object {
  return {
    title: 'Countersign configuration',
    ...z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }),
  };
}

import { z } from 'zod';
import { keypairs } from './schema-keypairs.ts';
import { resilience } from './schema-resilience.ts';
import { DIALECT_NAMES, name, origin, pathPrefix, tlsIdentity } from './schema-values.ts';
import { positiveDuration, size } from './units.ts';

const dialect = z
  .union([
    z.enum(DIALECT_NAMES),
    z.strictObject({
      preset: z.enum(DIALECT_NAMES).describe('The dialect the other keys change.'),
      headerPrefix: z
        .string()
        .regex(/^[A-Za-z][A-Za-z0-9-]*-$/, 'expected a header prefix such as X-Service-')
        .optional(),
      scheme: z
        .string()
        .regex(/^[A-Za-z][A-Za-z0-9.-]*$/, 'expected an authorization scheme such as Service')
        .optional(),
      bodyHash: z.enum(['body', 'empty']).optional(),
      contentType: z.enum(['full', 'mime']).optional(),
      dateLine: z.enum(['basic', 'verbatim']).optional(),
    }),
  ])
  .describe('The brand of the protocol: a preset, or a preset with changes.');

const HOP_BY_HOP_OR_OWNED =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|content-length|content-type|content-encoding|expect|cookie|authorization|date|forwarded|x-forwarded-.*|x-real-ip|x-request-id|traceparent|tracestate|x-http-method.*|x-method-override|sec-fetch-.*|origin|x-countersign|.*_.*)$/;

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^`|~-]+$/, 'expected a header name (no "_")')
  .transform((text) => text.toLowerCase())
  .refine((text) => !HOP_BY_HOP_OR_OWNED.test(text), {
    message: 'this header is framing, a credential or the gateway’s own and can never be passed',
  });

const upstream = z.strictObject({
  endpoints: z
    .array(origin)
    .min(1)
    .describe('Origins of the Service. A request that cannot connect to one tries the next.'),
  version: z
    .string()
    .regex(/^v\d+\.\d{8}$/, 'expected vX.yyyymmdd, such as v4.20190315')
    .describe('API version sent and signed with every request.'),
  dialect: dialect.prefault('service'),
  problemBase: z
    .url('expected a URL')
    .transform((text) => text.replace(/\/$/, ''))
    .optional()
    .describe('Base of the `type` of problems.'),
  mount: pathPrefix
    .refine((path) => path !== '/', { message: 'leave the key out for no mount' })
    .optional()
    .describe('Edge prefix that is neither signed nor sent; put back into Location and Link.'),
  signedHost: z
    .string()
    .regex(
      /^[A-Za-z0-9.-]+(?::\d{1,5})?$|^\[[0-9A-Fa-f:.]+\](?::\d{1,5})?$/,
      'expected a host, with a port if it has one',
    )
    .optional()
    .describe('Host to send and sign in place of the endpoint’s own.'),
  passHeaders: z.array(headerName).prefault([]).describe('Request headers to pass besides the fixed allow-list.'),
  passSetCookie: z.boolean().prefault(false).describe('Let the upstream’s own Set-Cookie reach the browser.'),
  connections: z.number().int().min(1).max(10_000).prefault(256).describe('Connections per endpoint.'),
  timeouts: z
    .strictObject({
      connect: positiveDuration.prefault('5s').describe('TCP and TLS handshake.'),
      headers: positiveDuration.prefault('60s').describe('From the request’s last byte to the response’s head.'),
      idle: positiveDuration.prefault('60s').describe('Between two chunks of a response; event streams are exempt.'),
    })
    .prefault({}),
  ...resilience,
  tls: z
    .strictObject({
      ca: z
        .string()
        .min(1)
        .optional()
        .describe('Path of the authorities that are trusted in place of the machine’s own, PEM.'),
      serverName: z
        .string()
        .regex(/^(?=.*[A-Za-z])[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*$/, 'expected a host name without a port')
        .optional()
        .describe('Name to ask for (SNI) and to verify, in place of the Host that is sent.'),
      clientCertificate: tlsIdentity.optional().describe('Shown to an upstream that asks for one; mTLS.'),
    })
    .optional()
    .describe('TLS to endpoints on https. Certificates are always verified.'),
});

const graphql = z
  .record(name, z.array(z.string().regex(/^[_A-Za-z][_0-9A-Za-z]*$/, 'expected the name of a root field')))
  .describe('Makes the route a GraphQL endpoint: role → root fields it may use. Roles not named may use none.');

const METHOD_NAMES = ['GET', 'HEAD', 'REPORT', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

const route = z.strictObject({
  path: pathPrefix.describe('Path prefix below the mount, matched on segment boundaries. The longest one decides.'),
  methods: z
    .array(z.enum(METHOD_NAMES))
    .min(1)
    .prefault([...METHOD_NAMES])
    .describe('HEAD follows GET.'),
  roles: z.array(name).min(1).describe('Roles that may use the route.'),
  contentTypes: z
    .array(z.string().regex(/^[a-z0-9.+-]+\/[a-z0-9.+*-]+$/, 'expected a lowercase media type'))
    .min(1)
    .prefault(['application/json'])
    .describe('Media types a request body may have.'),
  maxBody: size.prefault('10MiB').describe('Largest request body.'),
  encodedSlashes: z.enum(['refuse', 'allow']).prefault('refuse').describe('Encoded / or \\ in the path.'),
  safeReport: z.boolean().prefault(false).describe('REPORT only reads here, so it needs no CSRF proof.'),
  ownerAccessKey: z.array(name).prefault([]).describe('Roles that may use owner_access_key.'),
  graphql: graphql.optional(),
  graphqlLimits: z
    .strictObject({
      depth: z.number().int().min(1).max(100).prefault(10),
      tokens: z.number().int().min(10).max(100_000).prefault(2000),
    })
    .prefault({})
    .describe('Largest GraphQL document: nesting of its fields, and tokens.'),
});

export const usersSchema = z
  .record(
    z.string().min(1).max(256),
    z.strictObject({
      password: z
        .string()
        .regex(
          /^\$argon2id\$v=19\$m=\d{1,8},t=\d{1,4},p=\d{1,3}\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/,
          'expected an argon2id hash; make one with `countersign hash-password`',
        )
        .describe('argon2id hash, from `countersign hash-password`.'),
      roles: z.array(name).min(1),
    }),
  )
  .describe('User name → password hash and roles.');

const lifetimeKeys = {
  idle: positiveDuration.optional().describe('Ends the session when unused for so long.'),
  absolute: positiveDuration.optional().describe('Ends the session however busy it is.'),
};

export const tenantSchema = z.strictObject({
  origins: z
    .array(origin)
    .min(1)
    .describe('Origins of the front end: they choose the tenant by Host, and the cookie flags.'),
  upstream,
  keypairs: z.record(name, keypairs).describe('Role → keypair, or keypairs, that sign for it.'),
  login: z.strictObject({
    visitor: z
      .strictObject({
        role: name,
        idle: positiveDuration.prefault('30m').describe('Ends the session when unused for so long.'),
        absolute: positiveDuration.prefault('2h').describe('Ends the session however busy it is.'),
      })
      .optional()
      .describe('Anonymous, short-lived sessions.'),
    password: z
      .strictObject({
        users: z.union([z.string().min(1), usersSchema]).describe('Path of a users file, or the users themselves.'),
        ...lifetimeKeys,
      })
      .optional()
      .describe('User name and password.'),
  }),
  routes: z.array(route).describe('Allow-list. What matches no route is refused.'),
  site: z
    .string()
    .min(1)
    .optional()
    .describe('Folder of the front end’s static files, with index.html as the fallback.'),
  siteHeaders: z
    .record(
      z.string().regex(/^[A-Za-z0-9-]+$/, 'expected a header name'),
      z.string().regex(/^[\t\x20-\x7e]*$/, 'expected a header value of printable ASCII'),
    )
    .prefault({})
    .describe('Headers sent with those files, such as a Content-Security-Policy.'),
});

export type TenantConfig = z.output<typeof tenantSchema>;

import { z } from 'zod';
import * as documents from './schema.ts';

const SCHEMAS = {
  Liveness: documents.liveness,
  Readiness: documents.readiness,
  TenantList: documents.tenantList,
  KeypairList: documents.keypairList,
  QuotaList: documents.quotaList,
  EndpointList: documents.endpointList,
  SessionList: documents.sessionList,
  Ended: documents.ended,
  Reload: documents.reloadDocument,
  LogLevel: documents.logLevel,
  Status: documents.statusDocument,
  Problem: documents.problem,
} as const;

type SchemaName = keyof typeof SCHEMAS;

const json = (name: SchemaName, description: string) => ({
  description,
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
});
const problem = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
});
const text = (type: string, description: string) => ({
  description,
  content: { [type]: { schema: { type: 'string' } } },
});

const UNAUTHORIZED = { 401: problem('There is a token and it was not sent.') };
const STORE_DOWN = { 503: problem('The session store does not answer.') };
const REFUSED = { 403: problem('Without a token: the change did not come from this page or lacks X-Countersign: 1.') };

const query = (name: string, description: string, required: boolean, schema: object = { type: 'string' }) => ({
  name,
  in: 'query',
  description,
  required,
  schema,
});
const TENANT = query('tenant', 'Name of the tenant.', true);
const SUBJECT = query('subject', 'User name; all of the tenant’s sessions, visitors included, when left out.', false);
const PUBLIC = { security: [] };

const PATHS = {
  '/livez': {
    get: { summary: 'The process is alive', ...PUBLIC, responses: { 200: json('Liveness', 'It is.') } },
  },
  '/readyz': {
    get: {
      summary: 'Whether traffic should be sent here',
      description: 'Redis, upstreams and configuration told apart, and each tenant’s state.',
      ...PUBLIC,
      responses: { 200: json('Readiness', 'It should.'), 503: json('Readiness', 'It should not.') },
    },
  },
  '/metrics': {
    get: {
      summary: 'Metrics in the text format of Prometheus',
      responses: { 200: text('text/plain', 'The metrics.'), ...UNAUTHORIZED },
    },
  },
  '/openapi.json': {
    get: {
      summary: 'This document',
      responses: { 200: { description: 'It.', content: { 'application/json': {} } }, ...UNAUTHORIZED },
    },
  },
  '/': {
    get: {
      summary: 'The status page',
      ...PUBLIC,
      responses: { 200: text('text/html', 'The page; it holds no data.') },
    },
  },
  '/page/{file}': {
    get: {
      summary: 'Scripts and styles of the status page',
      ...PUBLIC,
      parameters: [{ name: 'file', in: 'path', required: true, schema: { type: 'string' } }],
      responses: { 200: { description: 'The file.' }, 404: problem('There is no such file.') },
    },
  },
  '/api/status': {
    get: {
      summary: 'All that the status page shows',
      responses: { 200: json('Status', 'The state of the gateway.'), ...UNAUTHORIZED },
    },
  },
  '/api/tenants': { get: { summary: 'The tenants', responses: { 200: json('TenantList', 'All.'), ...UNAUTHORIZED } } },
  '/api/keypairs': {
    get: {
      summary: 'The keypairs of every role, never their secrets',
      responses: { 200: json('KeypairList', 'All.'), ...UNAUTHORIZED },
    },
  },
  '/api/quotas': {
    get: { summary: 'Quota left per keypair', responses: { 200: json('QuotaList', 'All.'), ...UNAUTHORIZED } },
  },
  '/api/endpoints': {
    get: {
      summary: 'Upstream endpoints with their health and clocks',
      responses: { 200: json('EndpointList', 'All.'), ...UNAUTHORIZED },
    },
  },
  '/api/sessions': {
    get: {
      summary: 'Sessions of a tenant or of one of its users, newest first',
      parameters: [
        TENANT,
        SUBJECT,
        query('limit', 'How many to list.', false, { type: 'integer', minimum: 1, maximum: 1000, default: 100 }),
      ],
      responses: {
        200: json('SessionList', 'The sessions.'),
        400: problem('A parameter is missing or is none.'),
        ...UNAUTHORIZED,
        ...STORE_DOWN,
      },
    },
    delete: {
      summary: 'End all sessions of a tenant or of one of its users',
      parameters: [TENANT, SUBJECT],
      responses: {
        200: json('Ended', 'How many there were.'),
        400: problem('A parameter is missing or is none.'),
        ...UNAUTHORIZED,
        ...REFUSED,
        ...STORE_DOWN,
      },
    },
  },
  '/api/sessions/{id}': {
    delete: {
      summary: 'End one session and its live streams',
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      responses: {
        204: { description: 'It is ended.' },
        404: problem('There is no such session.'),
        ...UNAUTHORIZED,
        ...REFUSED,
        ...STORE_DOWN,
      },
    },
  },
  '/api/log-level': {
    get: { summary: 'The log level', responses: { 200: json('LogLevel', 'It.'), ...UNAUTHORIZED } },
    put: {
      summary: 'Set the log level until the next reload or restart',
      requestBody: json('LogLevel', 'The level.'),
      responses: {
        200: json('LogLevel', 'It is in force.'),
        400: problem('The body is no log level.'),
        ...UNAUTHORIZED,
        ...REFUSED,
      },
    },
  },
};

const RELOAD = {
  '/api/reload': {
    post: {
      summary: 'Load the configuration anew',
      responses: {
        200: json('Reload', 'The new configuration is in force.'),
        422: json('Reload', 'It has faults; the old configuration is still in force.'),
        ...UNAUTHORIZED,
        ...REFUSED,
      },
    },
  },
};

/** The OpenAPI 3.1 document of what this listener serves. */
export function openApiDocument(options: { version: string; hasToken: boolean; canReload: boolean }): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Countersign operator API',
      version: options.version,
      summary: 'Health, metrics and control of one gateway process.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: options.hasToken ? [{ token: [] }] : [],
    paths: options.canReload ? { ...PATHS, ...RELOAD } : PATHS,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'operator.token of the configuration.' },
      },
      schemas: Object.fromEntries(Object.entries(SCHEMAS).map(([name, schema]) => [name, schemaOf(schema)])),
    },
  };
}

function schemaOf(schema: z.ZodType): object {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'output' });
  return rest;
}

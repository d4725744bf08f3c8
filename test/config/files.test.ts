import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { loadConfig } from '../../src/config/load.ts';
import { configSchema, jsonSchema } from '../../src/config/schema.ts';
import { auditJsonSchema } from '../../src/observe/audit-event.ts';
import { ROOT } from '../kit/cli.ts';
import { loadExample } from './fixture.ts';

const read = (name: string) => readFileSync(join(ROOT, 'config', name), 'utf8');

/** The configuration the design gives as its sample, with the ellipses it has. */
const SAMPLE = `
listen: { host: 0.0.0.0, port: 8080, trustProxies: [10.0.0.0/8] }
operator: { host: 127.0.0.1, port: 9090, token: { env: OPERATOR_TOKEN } }
sessions: { store: redis://127.0.0.1:6379/0, idle: 30m, absolute: 12h }
tenants:
  acme:
    origins: [https://console.acme.example]     # Host → tenant, CSRF origin, cookie flags
    upstream:
      endpoints: [https://api.service.example]
      version: v4.20190315
      dialect: service
      problemBase: https://problems.acme.example
      mount: /api                               # optional: an edge prefix that is neither signed nor sent; put back into Location and Link
    keypairs:
      visitor: { accessKey: AKIA…, secretKey: { env: ACME_VISITOR_SECRET } }
      admin:   { accessKey: AKIA…, secretKey: { file: /run/secrets/acme-admin } }
    login:
      visitor: { role: visitor }
      password: { users: config/users.yaml }
    routes:
      - { path: /v2/admin/gql, methods: [POST], roles: [admin], graphql: { admin: [create_group, modify_group, delete_group] } }
      - { path: /v2, roles: [visitor, admin] }
    site: ./dist                                # optional: the front end's static files, SPA fallback
`;

it('the sample of the design parses as it stands', () => {
  expect(configSchema.safeParse(parseDocument(SAMPLE).toJS()).error).toBeUndefined();
});

it('config/audit.schema.json is what the audit events generate', () => {
  expect(JSON.parse(read('audit.schema.json'))).toEqual(JSON.parse(JSON.stringify(auditJsonSchema())));
});

it('config/schema.json is what the schema generates', () => {
  expect(JSON.parse(read('schema.json'))).toEqual(JSON.parse(JSON.stringify(jsonSchema())));
});

it('config/demo.yaml loads with an empty environment and warns of nothing', () => {
  const { snapshot, service, warnings } = loadConfig(join(ROOT, 'config/demo.yaml'), {});
  expect([...snapshot.sites.keys()]).toEqual(['localhost:8080', '127.0.0.1:8080']);
  expect(snapshot.listen.host).toBe('127.0.0.1');
  expect(service?.host).toBe('127.0.0.1');
  expect(warnings).toEqual([]);
});

describe('config/example.yaml', () => {
  it('loads', () => {
    expect(loadExample().snapshot.tenants[0]?.name).toBe('acme');
  });

  it('shows every key there is', () => {
    const example = parseDocument(read('example.yaml')).toJS();
    const missing: string[] = [];
    visit(jsonSchema() as Schema, example, '', missing);
    expect(missing).toEqual([]);
  });
});

interface Schema {
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: Schema[];
}

/** Walks schema and example together; an array or map of the example stands for all that could be in its place. */
function visit(schema: Schema, example: unknown, path: string, missing: string[]): void {
  const alternatives = schema.anyOf?.filter((one) => one.properties || one.additionalProperties) ?? [];
  const shape =
    alternatives.find((one) =>
      Object.keys(example ?? {}).every((key) => one.properties?.[key] || one.additionalProperties),
    ) ?? schema;
  for (const [key, inner] of Object.entries(shape.properties ?? {})) {
    const values = asArray(example)
      .map((one) => (one as Record<string, unknown>)?.[key])
      .filter((value) => value !== undefined);
    if (values.length === 0) missing.push(`${path}.${key}`);
    else visit(inner, values.length === 1 ? values[0] : values, `${path}.${key}`, missing);
  }
  if (typeof shape.additionalProperties === 'object' && typeof example === 'object' && example !== null) {
    visit(shape.additionalProperties, Object.values(example), `${path}.*`, missing);
  }
  if (shape.items !== undefined) visit(shape.items, asArray(example), `${path}[]`, missing);
}

function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value.flat() : [value];
}

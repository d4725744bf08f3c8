import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { createOperatorApp } from '../../src/operator/app.ts';
import { openApiDocument } from '../../src/operator/openapi.ts';
import type { Reloads } from '../../src/operator/parts.ts';
import * as documents from '../../src/operator/schema.ts';
import { FrontEnd } from '../kit/front-end.ts';
import { startGateway, type TestGateway } from '../kit/gateway.ts';
import { partsOf, startOperator, type TestOperator } from '../kit/operator.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

const RELOADS: Reloads = {
  reload: async () => ({ at: 0, ok: true, reason: 'operator', faults: [] }),
  last: { at: 0, ok: false, reason: 'SIGHUP', faults: [{ file: 'f', line: 1, path: 'p', message: 'm' }] },
  counts: { ok: 0, failed: 1 },
};

let upstream: StrictUpstream;
let gateway: TestGateway;
let operator: TestOperator;
beforeAll(async () => {
  ({ upstream, gateway } = await startGateway());
  operator = await startOperator(gateway.watched, { reloads: RELOADS });
});
afterAll(async () => {
  await operator?.close();
  await gateway?.close();
  await upstream?.close();
});

type Paths = Record<string, Record<string, { responses: Record<string, unknown>; security?: unknown[] }>>;

async function fetchDocument(): Promise<{ openapi: string; paths: Paths }> {
  return (await (await fetch(`${operator.origin}/openapi.json`)).json()) as { openapi: string; paths: Paths };
}

describe('the OpenAPI document', () => {
  it('is a valid one of version 3.1', async () => {
    const document = await fetchDocument();
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(await new Validator().validate(document)).toMatchObject({ valid: true });
    const broken = { ...document, paths: { 'no-slash': {} } };
    expect(await new Validator().validate(broken)).toMatchObject({ valid: false });
  });

  it.each([true, false])('names every route there is and no other (reload offered: %s)', (canReload) => {
    const parts = partsOf(gateway.watched, canReload ? { reloads: RELOADS } : {});
    const { app, close } = createOperatorApp(parts);
    close();
    const routes = app.routes
      .filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
    const document = openApiDocument({ version: '1', hasToken: false, canReload }) as { paths: Paths };
    const documented = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(documented.toSorted()).toEqual([...new Set(routes)].toSorted());
  });

  it('leaves out the token for nothing but liveness, readiness and the page’s files', async () => {
    const { paths } = await fetchDocument();
    const open = Object.entries(paths).filter(([, item]) => Object.values(item).some(({ security }) => security));
    expect(open.map(([path]) => path).toSorted()).toEqual(['/', '/livez', '/page/{file}', '/readyz']);
  });

  it.each<{ path: string; schema: z.ZodType }>([
    { path: '/livez', schema: documents.liveness },
    { path: '/readyz', schema: documents.readiness },
    { path: '/api/status', schema: documents.statusDocument },
    { path: '/api/tenants', schema: documents.tenantList },
    { path: '/api/keypairs', schema: documents.keypairList },
    { path: '/api/quotas', schema: documents.quotaList },
    { path: '/api/endpoints', schema: documents.endpointList },
    { path: '/api/sessions?tenant=acme', schema: documents.sessionList },
    { path: '/api/log-level', schema: documents.logLevel },
    { path: '/api/nothing', schema: documents.problem },
  ])('describes what $path answers, key by key', async ({ path, schema }) => {
    const page = await FrontEnd.signIn(gateway.port);
    await page.fetch('GET', '/v2');
    await page.fetch('GET', '/nowhere');
    const answer = await fetch(`${operator.origin}${path}`);
    expect(schema.safeParse(await answer.json()).error).toBeUndefined();
  });
});

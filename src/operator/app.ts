import { type Context, Hono } from 'hono';
import { newRequestId } from '../observe/request-id.ts';
import { asProblem, DEFAULT_PROBLEM_BASE, Problem } from '../problem.ts';
import { loopbackHostOnly, type OperatorEnv, operatorsOnly } from './access.ts';
import { operatorApi } from './api.ts';
import { readinessOf } from './health.ts';
import { createMetrics } from './metrics.ts';
import { openApiDocument } from './openapi.ts';
import { pageFiles } from './page-files.ts';
import type { OperatorParts } from './parts.ts';
import { createProbe } from './probe.ts';
import { StatusBoard } from './status.ts';

/** The page loads its own files and talks to its own origin; nothing else, and nobody may frame it. */
const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

export interface OperatorApp {
  readonly app: Hono<OperatorEnv>;
  close(): void;
}

/** Everything the operators' listener serves. */
export function createOperatorApp(parts: OperatorParts): OperatorApp {
  const { settings, version, reloads, log } = parts;
  const probe = createProbe();
  const board = new StatusBoard(parts, probe);
  const metrics = createMetrics(parts);
  const app = new Hono<OperatorEnv>();

  app.use('*', async (c, next) => {
    c.set('requestId', newRequestId());
    await next();
    for (const [name, value] of Object.entries(HEADERS)) c.header(name, value);
    c.header('X-Request-ID', c.get('requestId'));
    if (!c.res.headers.has('Cache-Control')) c.header('Cache-Control', 'no-store');
  });
  app.get('/livez', (c) => c.json({ status: 'alive' }));
  app.get('/readyz', async (c) => {
    const readiness = await readinessOf(parts, probe);
    return c.json(readiness, readiness.status === 'ready' ? 200 : 503);
  });

  app.use('*', loopbackHostOnly(settings));
  app.route('/', pageFiles(settings.token !== undefined));

  app.use('*', operatorsOnly(settings));
  app.get('/metrics', async (c) => c.body(await metrics.render(), 200, { 'Content-Type': metrics.contentType }));
  const document = openApiDocument({
    version,
    hasToken: settings.token !== undefined,
    canReload: reloads !== undefined,
  });
  app.get('/openapi.json', (c) => c.json(document));
  app.route('/api', operatorApi(parts, probe, board));

  app.notFound(() => {
    throw new Problem('no-route', 'The operator API has no such endpoint.');
  });
  app.onError((error, c) => {
    const problem = asProblem(error);
    if (problem.code === 'internal')
      log.error({ requestId: c.get('requestId'), err: error }, 'the operator API failed');
    return answer(c, problem);
  });
  return { app, close: () => board.close() };
}

function answer(c: Context<OperatorEnv>, problem: Problem): Response {
  return new Response(problem.toBody(DEFAULT_PROBLEM_BASE, c.get('requestId')), {
    status: problem.status,
    headers: { ...problem.headers, 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store' },
  });
}

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FrontEnd } from '../kit/front-end.ts';
import { KEYPAIR, startGateway, type TestGateway } from '../kit/gateway.ts';
import { startOperator, type TestOperator } from '../kit/operator.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';
import { newSession } from '../session/fixture.ts';

const CHANGE = { 'X-Countersign': '1' };
const OTHER = { origin: 'http://other.test', keypair: { accessKey: 'AKIAOTHER', secretKey: 'other-secret' } };

let upstream: StrictUpstream;
let gateway: TestGateway;
let operator: TestOperator;
beforeEach(async () => {
  ({ upstream, gateway } = await startGateway({
    others: { other: OTHER },
    respond: (request, answer) => {
      if (request.target === '/v2/stream') {
        answer.raw(
          'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n: hi\n\n\r\n',
        );
      } else {
        answer.raw(
          'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-RateLimit-Limit: 1000\r\nX-RateLimit-Remaining: 987\r\nX-RateLimit-Reset: 12\r\n\r\n{}',
        );
      }
    },
  }));
  operator = await startOperator(gateway.watched);
});
afterEach(async () => {
  await operator.close();
  await gateway.close();
  await upstream.close();
});

const get = async (path: string) => (await fetch(`${operator.origin}${path}`)).json();
const send = (method: string, path: string, body?: string) =>
  fetch(`${operator.origin}${path}`, { method, headers: CHANGE, ...(body !== undefined && { body }) });

/** Sessions as if their users had logged in just now. */
async function createSessions(...of: { tenant: string; subject: string | undefined }[]) {
  const now = Date.now();
  for (const one of of) await gateway.watched.store.create(newSession({ ...one, createdAt: now, seenAt: now }));
}

describe('what operators see', () => {
  it('the tenants, without a secret', async () => {
    const { tenants } = (await get('/api/tenants')) as { tenants: { name: string }[] };
    expect(tenants.map(({ name }) => name)).toEqual(['acme', 'other']);
    expect(tenants[0]).toMatchObject({
      origins: ['http://console.test'],
      roles: ['visitor'],
      loginMethods: ['visitor'],
      upstream: { endpoints: [upstream.origin], version: 'v4.20190315' },
      routes: [{ path: '/v2', roles: ['visitor'] }],
    });
  });

  it('each keypair and its quota, as the upstream last put it', async () => {
    expect(await get('/api/quotas')).toMatchObject({
      quotas: [{ limit: null, remaining: null, reset: null }, { tenant: 'other' }],
    });
    const page = await FrontEnd.signIn(gateway.port);
    expect((await page.fetch('GET', '/v2')).status).toBe(200);
    expect(await get('/api/quotas')).toEqual({
      quotas: [
        { tenant: 'acme', role: 'visitor', accessKey: KEYPAIR.accessKey, limit: 1000, remaining: 987, reset: '12' },
        { tenant: 'other', role: 'visitor', accessKey: 'AKIAOTHER', limit: null, remaining: null, reset: null },
      ],
    });
    expect(await get('/api/keypairs')).toMatchObject({
      keypairs: [
        { accessKey: KEYPAIR.accessKey, state: 'active', valid: true, quota: { limit: '1000', remaining: '987' } },
        { accessKey: 'AKIAOTHER', quota: null },
      ],
    });
  });

  it('endpoints with what became of the attempts on them', async () => {
    const page = await FrontEnd.signIn(gateway.port);
    await page.fetch('GET', '/v2');
    expect(await get('/api/endpoints')).toMatchObject({
      endpoints: [
        {
          origin: upstream.origin,
          tenants: ['acme', 'other'],
          up: true,
          cooling: false,
          attempts: { answered: 1, unreachable: 0, failed: 0, abandoned: 0 },
          lastAnswerAt: expect.any(String),
          lastFailure: null,
        },
      ],
    });
    await upstream.close();
    expect((await page.fetch('GET', '/v2')).status).toBe(502);
    expect(await get('/api/endpoints')).toMatchObject({
      endpoints: [{ up: false, cooling: true, attempts: { answered: 1 }, lastFailure: { kind: 'unreachable' } }],
    });
  });

  it('no secret anywhere', async () => {
    const page = await FrontEnd.signIn(gateway.port);
    await page.fetch('GET', '/v2');
    const paths = ['status', 'tenants', 'keypairs', 'quotas', 'endpoints', 'sessions?tenant=acme'].map(
      (p) => `/api/${p}`,
    );
    const texts = await Promise.all(
      [...paths, '/metrics', '/readyz', '/openapi.json'].map(async (path) =>
        (await fetch(`${operator.origin}${path}`)).text(),
      ),
    );
    const everything = texts.join('\n');
    expect(everything).toContain(KEYPAIR.accessKey);
    expect(everything).not.toContain(KEYPAIR.secretKey);
    expect(everything).not.toContain(OTHER.keypair.secretKey);
    expect(everything).not.toContain(page.cookie.split('=')[1]);
  });

  it('404 for what there is not, as a problem', async () => {
    const answer = await fetch(`${operator.origin}/api/secrets`);
    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(await answer.json()).toMatchObject({
      type: expect.stringMatching(/\/no-route$/),
      instance: answer.headers.get('x-request-id'),
    });
  });
});

describe('sessions', () => {
  it('are listed by tenant and by user', async () => {
    await createSessions(
      { tenant: 'acme', subject: 'ada' },
      { tenant: 'acme', subject: 'bob' },
      { tenant: 'acme', subject: undefined },
      { tenant: 'other', subject: 'ada' },
    );
    expect(await get('/api/sessions?tenant=acme')).toMatchObject({ total: 3 });
    expect(await get('/api/sessions?tenant=acme&limit=2')).toMatchObject({ total: 3, sessions: [{}, {}] });
    const { sessions } = (await get('/api/sessions?tenant=acme&subject=ada')) as { sessions: object[] };
    expect(sessions).toMatchObject([{ tenant: 'acme', subject: 'ada', roles: ['user'], method: 'password' }]);
  });

  it('one is ended, and its cookie is worth nothing from then on', async () => {
    const page = await FrontEnd.signIn(gateway.port);
    const bystander = await FrontEnd.signIn(gateway.port);
    const key = JSON.parse(gateway.log.at(0) ?? '{}').session as string;
    const { sessions } = (await get('/api/sessions?tenant=acme')) as { sessions: { id: string }[] };
    const { id = '' } = sessions.find((one) => one.id.startsWith(key)) ?? {};
    expect((await send('DELETE', `/api/sessions/${id}`)).status).toBe(204);
    expect((await page.fetch('GET', '/v2')).status).toBe(401);
    expect((await bystander.fetch('GET', '/v2')).status).toBe(200);

    expect(operator.actions).toMatchObject([{ action: 'end-session', tenant: 'acme', session: id, count: 1 }]);
    expect(gateway.log.join('')).not.toContain(id);

    const again = await send('DELETE', `/api/sessions/${id}`);
    expect(again.status).toBe(404);
    expect(await again.json()).toMatchObject({ type: expect.stringMatching(/\/unknown-session$/) });
  });

  it('all of a user, or of a tenant, are ended with their live streams, and nobody else’s', async () => {
    const page = await FrontEnd.signIn(gateway.port);
    const stream = await page.connect();
    stream.send(page.bytes('GET', '/v2/stream', { headers: [['Accept', 'text/event-stream']] }));
    await expect
      .poll(async () => ((await get('/api/status')) as { sessions: object }).sessions)
      .toMatchObject({ streams: 1 });
    await createSessions(
      { tenant: 'acme', subject: 'ada' },
      { tenant: 'acme', subject: 'ada' },
      { tenant: 'other', subject: 'ada' },
    );

    expect(await (await send('DELETE', '/api/sessions?tenant=acme&subject=ada')).json()).toEqual({ ended: 2 });
    expect((await page.fetch('GET', '/v2')).status).toBe(200);
    expect(await (await send('DELETE', '/api/sessions?tenant=acme')).json()).toEqual({ ended: 1 });
    expect(await stream.response()).toMatchObject({ status: 200, complete: false });
    expect((await page.fetch('GET', '/v2')).status).toBe(401);
    expect(await get('/api/sessions?tenant=other')).toMatchObject({ total: 1 });
    expect(operator.actions).toMatchObject([
      { action: 'end-sessions', outcome: 'done', tenant: 'acme', subject: 'ada', count: 2, client: '127.0.0.1' },
      { action: 'end-sessions', tenant: 'acme', count: 1 },
    ]);
  });

  // A script whose variable is empty asks for `subject=`: that must not be read as everybody's.
  it.each(['', '?tenant=', '?tenant=acme&subject=', '?tenant=acme&tenant=other', '?tenant=acme&subject=a&subject=b'])(
    'DELETE /api/sessions%s ends nothing',
    async (query) => {
      await createSessions({ tenant: 'acme', subject: 'ada' });
      const answer = await send('DELETE', `/api/sessions${query}`);
      expect(answer.status).toBe(400);
      expect(await get('/api/sessions?tenant=acme')).toMatchObject({ total: 1 });
    },
  );

  it.each(['0', '1001', '-1', 'ten', '1e2'])('limit=%s is refused', async (limit) => {
    expect((await fetch(`${operator.origin}/api/sessions?tenant=acme&limit=${limit}`)).status).toBe(400);
  });
});

describe('the log level', () => {
  it('is changed at run time', async () => {
    expect(await get('/api/log-level')).toEqual({ level: 'info' });
    expect(await (await send('PUT', '/api/log-level', '{"level":"error"}')).json()).toEqual({ level: 'error' });
    const before = gateway.log.length;
    await FrontEnd.signIn(gateway.port);
    expect(gateway.log).toHaveLength(before);
    expect(await get('/api/status')).toMatchObject({ process: { logLevel: 'error' } });
  });

  it.each(['', '{}', '{"level":"loud"}', '{"level":"info","more":1}', 'null'])(
    'stays as it is for %s',
    async (body) => {
      const answer = await send('PUT', '/api/log-level', body);
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ type: expect.stringMatching(/\/invalid-body$/) });
      expect(await get('/api/log-level')).toEqual({ level: 'info' });
    },
  );
});

describe('reloading', () => {
  const fault = { file: 'countersign.yaml', line: 3, path: 'tenants.acme', message: 'unknown key' };
  const record = (ok: boolean) => ({ at: Date.now(), ok, reason: 'operator', faults: ok ? [] : [fault] });

  it('answers with what became of it', async () => {
    await operator.close();
    let ok = true;
    operator = await startOperator(gateway.watched, {
      reloads: { reload: async () => record(ok), last: record(false), counts: { ok: 1, failed: 2 } },
    });
    expect((await send('POST', '/api/reload')).status).toBe(200);
    ok = false;
    const refused = await send('POST', '/api/reload');
    expect(refused.status).toBe(422);
    expect(await refused.json()).toMatchObject({ ok: false, faults: [fault] });
    expect(await get('/readyz')).toMatchObject({ status: 'ready', checks: { configuration: 'failed' } });
    const metrics = await (await fetch(`${operator.origin}/metrics`)).text();
    expect(metrics).toMatch(/^countersign_config_reloads_total\{result="failed"\} 2$/m);
    expect(metrics).toMatch(/^countersign_config_last_reload_successful 0$/m);
  });

  it('is not offered where nothing could do it', async () => {
    expect((await send('POST', '/api/reload')).status).toBe(404);
  });
});

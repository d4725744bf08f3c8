import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Audit, createAudit, sessionHash } from '../../src/observe/audit.ts';
import { type AuditEvent, auditJsonSchema, auditLineSchema } from '../../src/observe/audit-event.ts';
import { keypairTrail } from '../../src/observe/keypair-event.ts';
import { sessionKey } from '../../src/session/sessions.ts';
import { FrontEnd } from '../kit/front-end.ts';
import { KEYPAIR, startGateway, type TestGateway } from '../kit/gateway.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

// The hash is of the password below, made by `countersign hash-password`.
const PASSWORD = 'countersign-demo';
const HASH = '$argon2id$v=19$m=19456,t=2,p=1$eRPpWxGnCvSuAjBZJxPXkA$cTJoyKY9UN8nQtFcqoeeywTmJkBADxxcaVBJA5+2VoA';
const LOGIN = { password: { users: { ada: { password: HASH, roles: ['visitor'] } } } };

interface Line {
  readonly time: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

const parse = (lines: readonly string[]) => lines.map((line) => JSON.parse(line) as Line);

describe('the audit log of a gateway', () => {
  let upstream: StrictUpstream;
  let gateway: TestGateway;
  afterEach(async () => {
    await gateway.close();
    await upstream.close();
  });

  const audited = () => parse(gateway.audit);
  const hashOf = (page: FrontEnd) => sessionHash(sessionKey(page.cookie.split('=')[1] ?? ''));
  const signIn = async (body: object, cookie = '') => {
    const response = await new FrontEnd(gateway.port, cookie).fetch('POST', '/-/session', {
      body: JSON.stringify(body),
    });
    return { response, page: new FrontEnd(gateway.port, response.header('set-cookie')?.split(';')[0] ?? '') };
  };
  const ada = { method: 'password', username: 'ada', password: PASSWORD };

  it('has a login, a failed login and a logout, each with who, where and which request', async () => {
    ({ upstream, gateway } = await startGateway({ login: LOGIN }));
    const failed = await signIn({ ...ada, password: 'wrong' });
    const { response, page } = await signIn(ada);
    const bye = await page.fetch('DELETE', '/-/session');
    const who = { tenant: 'acme', subject: 'ada', client: '127.0.0.1' };
    expect(audited()).toEqual([
      {
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        event: 'login-failed',
        ...who,
        requestId: failed.response.header('x-request-id'),
        code: 'invalid-credentials',
        detail: { method: 'password' },
      },
      {
        time: expect.any(String),
        event: 'login',
        ...who,
        requestId: response.header('x-request-id'),
        sessionHash: hashOf(page),
        detail: { method: 'password', roles: ['visitor'] },
      },
      {
        time: expect.any(String),
        event: 'logout',
        ...who,
        requestId: bye.header('x-request-id'),
        sessionHash: hashOf(page),
      },
    ]);
  });

  it('does not name a user nobody knows: what was typed there may be a password', async () => {
    ({ upstream, gateway } = await startGateway({ login: LOGIN }));
    await signIn({ ...ada, username: PASSWORD });
    expect(audited()).toMatchObject([{ event: 'login-failed', code: 'invalid-credentials' }]);
    expect(audited()[0]).not.toHaveProperty('subject');
  });

  it('has one revocation for each way a session is ended from elsewhere', async () => {
    ({ upstream, gateway } = await startGateway({ login: LOGIN }));
    const [first, second, third] = [await signIn(ada), await signIn(ada), await signIn(ada)];
    const replaced = await signIn(ada, first?.page.cookie);
    const list = JSON.parse((await replaced.page.fetch('GET', '/-/sessions')).body.toString()) as {
      sessions: { id: string }[];
    };
    const target = sessionKey(second?.page.cookie.split('=')[1] ?? '');
    expect(list.sessions.map(({ id }) => id)).toContain(target);
    await replaced.page.fetch('DELETE', `/-/sessions/${target}`);
    await replaced.page.fetch('DELETE', '/-/sessions');
    await third.page.fetch('DELETE', '/-/session');
    const who = { tenant: 'acme', subject: 'ada' };
    expect(audited().filter(({ event }) => event !== 'login')).toMatchObject([
      { event: 'revocation', ...who, sessionHash: hashOf(first.page), detail: { by: 'login', scope: 'one', count: 1 } },
      { event: 'revocation', ...who, sessionHash: hashOf(second.page), detail: { by: 'user', scope: 'one', count: 1 } },
      { event: 'revocation', ...who, detail: { by: 'user', scope: 'others', count: 1 } },
    ]);
  });

  it.each([
    {
      code: 'unauthorized',
      ask: (page: FrontEnd) => new FrontEnd(page.port, '').fetch('GET', '/v2?token=query-secret'),
    },
    {
      code: 'csrf',
      ask: (page: FrontEnd) => page.fetch('POST', '/v2/x', { body: '{}', headers: [['Sec-Fetch-Site', 'cross-site']] }),
    },
    { code: 'owner-access-key', ask: (page: FrontEnd) => page.fetch('GET', '/v2/x?owner_access_key=AKIAOTHER') },
    { code: 'method-not-allowed', ask: (page: FrontEnd) => page.fetch('DELETE', '/v2/x') },
    { code: 'unknown-tenant', ask: (page: FrontEnd) => new FrontEnd(page.port, '', 'else.test').fetch('GET', '/v2') },
    { code: 'ambiguous-target', ask: (page: FrontEnd) => page.fetch('GET', '/v2/../x') },
  ])('has the refusal $code', async ({ code, ask }) => {
    ({ upstream, gateway } = await startGateway({ route: { methods: ['GET', 'POST'] } }));
    const page = await FrontEnd.signIn(gateway.port);
    const response = await ask(page);
    expect(JSON.parse(response.body.toString())).toMatchObject({
      type: expect.stringMatching(new RegExp(`/${code}$`)),
    });
    const refusals = audited().filter(({ event }) => event === 'refusal');
    expect(refusals).toMatchObject([{ code, client: '127.0.0.1', requestId: response.header('x-request-id') }]);
    expect(gateway.audit.join('')).not.toContain('secret');
  });

  it('has the refusal of a WebSocket handshake from a foreign page', async () => {
    ({ upstream, gateway } = await startGateway());
    const page = await FrontEnd.signIn(gateway.port);
    const headers = [
      ['Connection', 'Upgrade'],
      ['Upgrade', 'websocket'],
      ['Sec-Fetch-Site', 'cross-site'],
    ] as const;
    expect((await page.fetch('GET', '/v2/stream', { headers })).status).toBe(403);
    expect(audited().at(-1)).toMatchObject({
      event: 'refusal',
      code: 'csrf',
      detail: { kind: 'upgrade', path: '/v2/stream' },
    });
  });

  it('has a keypair that the Service refuses', async () => {
    const problem = [['Content-Type', 'application/problem+json']] as const;
    ({ upstream, gateway } = await startGateway({
      respond: (_, answer) => answer.send(401, problem, '{"type":"https://x.example/unauthorized","title":"no"}'),
    }));
    const page = await FrontEnd.signIn(gateway.port);
    const response = await page.fetch('GET', '/v2');
    expect(response.status).toBe(401);
    expect(audited().filter(({ event }) => event !== 'login')).toMatchObject([
      {
        event: 'keypair-refused',
        tenant: 'acme',
        requestId: response.header('x-request-id'),
        detail: { role: 'visitor', accessKey: KEYPAIR.accessKey },
      },
    ]);
  });

  it('has no line for what is nobody’s attempt: a page that is not there, an upstream that fails', async () => {
    ({ upstream, gateway } = await startGateway({ respond: (_, answer) => answer.reset() }));
    const page = await FrontEnd.signIn(gateway.port);
    expect((await page.fetch('GET', '/nowhere')).status).toBe(404);
    expect((await page.fetch('POST', '/v2/x', { body: '{}' })).status).toBe(502);
    expect(audited().map(({ event }) => event)).toEqual(['login']);
  });

  it('is not filled by an attack: past the limit refusals are counted, by code and tenant', async () => {
    let now = 1_800_000_000_000;
    ({ upstream, gateway } = await startGateway({
      clock: () => now,
      audit: { refusals: { requests: 3, per: '10s' } },
    }));
    const nobody = new FrontEnd(gateway.port, '');
    const connection = await nobody.connect();
    for (let i = 0; i < 50; i++) await nobody.fetch('GET', '/v2', {}, connection);
    await nobody.fetch('POST', '/-/session', { body: '{}', headers: [['Sec-Fetch-Site', 'cross-site']] }, connection);
    now += 10_000;
    await nobody.fetch('GET', '/v2', {}, connection);
    connection.destroy();
    expect(audited().map(({ event, code, tenant, detail }) => ({ event, code, tenant, detail }))).toMatchObject([
      { event: 'refusal', code: 'unauthorized' },
      { event: 'refusal', code: 'unauthorized' },
      { event: 'refusal', code: 'unauthorized' },
      { event: 'refusal', code: 'csrf' },
      {
        event: 'suppressed',
        code: 'unauthorized',
        tenant: 'acme',
        detail: { event: 'refusal', count: 47, seconds: 10 },
      },
      { event: 'refusal', code: 'unauthorized' },
    ]);
  });

  it('never holds a secret, whatever is sent', async () => {
    ({ upstream, gateway } = await startGateway({ login: LOGIN }));
    const { page } = await signIn(ada);
    const headers = [
      ['Authorization', 'Bearer header-secret'],
      ['Cookie', 'other=cookie-secret'],
    ] as const;
    await page.fetch('GET', '/v2/x?owner_access_key=query-secret', { headers });
    await page.fetch('POST', '/v2/x', { headers, body: '{"owner_access_key":"body-secret"}' });
    await signIn({ ...ada, password: 'typed-secret' });
    await signIn({ ...ada, username: 'name-secret' });
    await page.fetch('DELETE', '/-/session');
    expect(audited().map(({ event }) => event)).toEqual([
      'login',
      'refusal',
      'refusal',
      'login-failed',
      'login-failed',
      'logout',
    ]);
    const id = page.cookie.split('=')[1] ?? 'missing';
    for (const secret of [KEYPAIR.secretKey, PASSWORD, HASH.split('$')[5] ?? '', id, sessionKey(id), '-secret']) {
      expect(gateway.audit.join('')).not.toContain(secret);
    }
  });
});

describe('an audit log', () => {
  const lines: string[] = [];
  const audit = (requests: number): Audit =>
    createAudit(
      {
        write: (line) => void lines.push(line),
        reopen: () => undefined,
        flush: async () => undefined,
        close: async () => undefined,
      },
      { refusals: { requests, window: 5000 }, clock: Date.now },
    );
  afterEach(() => {
    lines.length = 0;
    vi.useRealTimers();
  });

  const refusal: AuditEvent = {
    event: 'refusal',
    tenant: undefined,
    client: '192.0.2.1',
    requestId: 'id',
    code: 'malformed-request',
    detail: { kind: 'http', method: '', reason: 'no' },
  };

  it('writes what others report as the schema says', () => {
    const log = audit(10);
    const keypair = { tenant: 'acme', role: 'visitor', accessKey: 'AKIA2', requestId: 'id' };
    const events: AuditEvent[] = [
      { event: 'reload', detail: { ok: false, reason: 'SIGHUP', faults: 2, added: [], removed: [] } },
      {
        event: 'operator-action',
        tenant: 'acme',
        client: '127.0.0.1',
        session: 'store-key',
        detail: { action: 'end-session', outcome: 'done' },
      },
      { event: 'revocation', tenant: 'acme', detail: { by: 'operator', scope: 'tenant', count: 7 } },
      refusal,
    ];
    for (const event of events) log.record(event);
    const record = keypairTrail(log);
    record({ ...keypair, kind: 'rotated', from: 'AKIA1' });
    record({ ...keypair, kind: 'refused', until: 0, replacedBy: undefined });
    record({ ...keypair, kind: 'accepted' });
    expect(lines.map((line) => auditLineSchema.parse(JSON.parse(line)).event)).toEqual([
      ...events.map(({ event }) => event),
      'rotation',
      'keypair-refused',
      'keypair-accepted',
    ]);
    expect(lines.join('')).not.toContain('store-key');
    expect(lines.join('')).toContain(sessionHash('store-key'));
  });

  it('tells what it has counted when the attack stops, and when the process does', async () => {
    vi.useFakeTimers();
    const log = audit(1);
    log.record(refusal);
    log.record(refusal);
    log.record(refusal);
    expect(lines).toHaveLength(1);
    vi.advanceTimersByTime(5000);
    expect(parse(lines)[1]).toMatchObject({ event: 'suppressed', detail: { event: 'refusal', count: 2, seconds: 5 } });
    log.record(refusal);
    log.record(refusal);
    await log.close();
    expect(parse(lines).slice(2)).toMatchObject([{ event: 'refusal' }, { event: 'suppressed', detail: { count: 1 } }]);
    for (const line of lines) auditLineSchema.parse(JSON.parse(line));
  });

  it('has a schema that describes every event and refuses what it does not know', () => {
    const { oneOf } = auditJsonSchema() as { oneOf: { description: string; properties: object }[] };
    expect(oneOf).toHaveLength(12);
    for (const { description } of oneOf) expect(description).toMatch(/\.$/);
    const line = {
      time: new Date(0).toISOString(),
      event: 'reload',
      detail: { ok: true, reason: 'file changed', faults: 0, added: ['acme'], removed: [] },
    };
    expect(auditLineSchema.safeParse(line).success).toBe(true);
    expect(auditLineSchema.safeParse({ ...line, password: 'x' }).success).toBe(false);
    expect(auditLineSchema.safeParse({ ...line, event: 'other' }).success).toBe(false);
  });
});

import { afterEach, describe, expect, it } from 'vitest';
import { FrontEnd } from '../kit/front-end.ts';
import { DOORS, startGateway, type TestGateway } from '../kit/gateway.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

// The hash is of this password, made by `countersign hash-password`.
const PASSWORD = 'countersign-demo';
const HASH = '$argon2id$v=19$m=19456,t=2,p=1$eRPpWxGnCvSuAjBZJxPXkA$cTJoyKY9UN8nQtFcqoeeywTmJkBADxxcaVBJA5+2VoA';
const MINUTE = 60_000;

let upstream: StrictUpstream;
let gateway: TestGateway;
let now: number;

async function start(door: 'listener' | 'hono', options: object = {}) {
  now = Date.UTC(2026, 2, 15, 1, 2, 3);
  const login = {
    visitor: { role: 'visitor', idle: '30m', absolute: '2h' },
    password: { users: { ada: { password: HASH, roles: ['visitor'] }, bob: { password: HASH, roles: ['visitor'] } } },
  };
  ({ upstream, gateway } = await startGateway({ door, login, clock: () => now, ...options }));
}

afterEach(async () => {
  await gateway.close();
  await upstream.close();
});

const anonymous = () => new FrontEnd(gateway.port, '');
const credentials = (username = 'ada', password = PASSWORD) =>
  JSON.stringify({ method: 'password', username, password });

/** Signs in with `body`, from the page of an earlier session if there is one. */
async function signIn(body = credentials(), from = anonymous()): Promise<FrontEnd> {
  const response = await from.fetch('POST', '/-/session', { body });
  expect(response.status).toBe(201);
  return new FrontEnd(gateway.port, response.header('set-cookie')?.split(';')[0] ?? '');
}

const statusOf = async (page: FrontEnd) => (await page.fetch('GET', '/v2')).status;

describe.each(DOORS)('own endpoints, through the door %s', (door) => {
  it('GET /-/session tells nobody how to sign in', async () => {
    await start(door);
    const response = await anonymous().fetch('GET', '/-/session');
    expect(response.status).toBe(200);
    expect(response.header('cache-control')).toBe('no-store');
    expect(response.header('x-request-id')).toMatch(/^[0-9a-f]{32}$/);
    expect(response.json()).toEqual({
      authenticated: false,
      tenant: 'acme',
      roles: [],
      methods: [{ name: 'visitor' }, { name: 'password' }],
    });
  });

  it('POST /-/session answers 201 with the session and a cookie no script and no other site can use', async () => {
    await start(door);
    const response = await anonymous().fetch('POST', '/-/session', { body: credentials() });
    expect(response.status).toBe(201);
    expect(response.header('set-cookie')).toMatch(
      /^session=[A-Za-z0-9_-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect(response.json()).toEqual({
      authenticated: true,
      tenant: 'acme',
      subject: 'ada',
      roles: ['visitor'],
      expiresAt: '2026-03-15T13:02:03.000Z',
      idleExpiresAt: '2026-03-15T01:32:03.000Z',
      methods: [{ name: 'visitor' }, { name: 'password' }],
    });
  });

  it('on an https origin the cookie is __Host-session and Secure, and one of another name is no session', async () => {
    await start(door, { tenant: { origins: ['https://console.test'] } });
    const response = await anonymous().fetch('POST', '/-/session', { body: credentials() });
    const cookie = response.header('set-cookie') ?? '';
    expect(cookie).toMatch(/^__Host-session=[A-Za-z0-9_-]{43}; .*Path=\/; HttpOnly; SameSite=Strict; Secure$/);
    expect(cookie).not.toMatch(/domain/i);
    const pair = cookie.split(';')[0] ?? '';
    expect(await statusOf(new FrontEnd(gateway.port, pair))).toBe(200);
    expect(await statusOf(new FrontEnd(gateway.port, pair.replace('__Host-', '')))).toBe(401);
  });

  it('a login replaces the session it was made from: an id planted before it opens nothing after it', async () => {
    await start(door);
    const before = await signIn('{"method":"visitor"}');
    const after = await signIn(credentials(), before);
    expect(after.cookie).not.toBe(before.cookie);
    expect(await statusOf(before)).toBe(401);
    expect(await statusOf(after)).toBe(200);
  });

  it('DELETE /-/session ends the session, clears the cookie and the browser’s copies', async () => {
    await start(door);
    const page = await signIn();
    const response = await page.fetch('DELETE', '/-/session');
    expect(response.status).toBe(204);
    expect(response.header('set-cookie')).toMatch(/^session=; Max-Age=0; /);
    expect(response.header('clear-site-data')).toContain('"cache"');
    expect(await statusOf(page)).toBe(401);
    expect((await page.fetch('DELETE', '/-/session')).status).toBe(204);
  });

  it('a session ends when it was idle too long, and when it is too old however busy it was', async () => {
    await start(door);
    const idle = await signIn('{"method":"visitor"}');
    now += 30 * MINUTE - 1;
    expect(await statusOf(idle)).toBe(200);
    now += 30 * MINUTE;
    const refused = await idle.fetch('GET', '/v2');
    expect(refused.status).toBe(401);
    expect(refused.header('set-cookie')).toMatch(/^session=; Max-Age=0; /);

    const busy = await signIn('{"method":"visitor"}');
    for (let age = 0; age < 110; age += 10) {
      now += 10 * MINUTE;
      expect(await statusOf(busy)).toBe(200);
    }
    now += 10 * MINUTE;
    expect(await statusOf(busy)).toBe(401);
  });

  it('GET /-/sessions lists one’s own; DELETE ends one, or all others; nobody reaches another’s', async () => {
    await start(door);
    const [first, second, third] = [await signIn(), await signIn(), await signIn()];
    const bob = await signIn(credentials('bob'));
    const list = async (page: FrontEnd) =>
      ((await page.fetch('GET', '/-/sessions')).json() as { sessions: { id: string; current: boolean }[] }).sessions;
    expect((await list(first)).map(({ current }) => current).filter(Boolean)).toHaveLength(1);
    expect(await list(first)).toHaveLength(3);
    expect(JSON.stringify(await list(first))).not.toContain(first.cookie.split('=')[1]);

    const bobs = (await list(bob))[0]?.id ?? '';
    const stolen = await first.fetch('DELETE', `/-/sessions/${bobs}`);
    expect([stolen.status, stolen.json()]).toMatchObject([404, { type: expect.stringMatching(/\/unknown-session$/) }]);
    expect(await statusOf(bob)).toBe(200);

    const thirds = (await list(third)).find(({ current }) => current)?.id ?? '';
    expect((await first.fetch('DELETE', `/-/sessions/${thirds}`)).status).toBe(204);
    expect([await statusOf(first), await statusOf(second), await statusOf(third)]).toEqual([200, 200, 401]);
    expect((await first.fetch('DELETE', '/-/sessions')).status).toBe(204);
    expect([await statusOf(first), await statusOf(second), await statusOf(bob)]).toEqual([200, 401, 200]);
  });

  it('a visitor sees and ends no session but its own', async () => {
    await start(door);
    const [one, other] = [await signIn('{"method":"visitor"}'), await signIn('{"method":"visitor"}')];
    expect((await one.fetch('GET', '/-/sessions')).json()).toMatchObject({ sessions: [{ current: true }] });
    expect((await one.fetch('DELETE', '/-/sessions')).status).toBe(204);
    expect([await statusOf(one), await statusOf(other)]).toEqual([200, 200]);
  });

  it('without a session there is nothing to list', async () => {
    await start(door);
    expect((await anonymous().fetch('GET', '/-/sessions')).status).toBe(401);
  });

  it('wrong passwords and unknown users get the same answer, and a lock is for the address alone', async () => {
    await start(door, { listen: { trustProxies: ['127.0.0.1'] } });
    const attempt = async (client: string, body: string) =>
      anonymous().fetch('POST', '/-/session', { body, headers: [['X-Forwarded-For', client]] });
    const wrong = await attempt('192.0.2.1', credentials('ada', 'wrong'));
    const unknown = await attempt('192.0.2.1', credentials('nobody', 'wrong'));
    const anonymized = (response: typeof wrong) => ({ ...(response.json() as object), instance: '' });
    expect([wrong.status, anonymized(wrong)]).toEqual([unknown.status, anonymized(unknown)]);
    expect(wrong.json()).toMatchObject({ status: 401, type: expect.stringMatching(/\/invalid-credentials$/) });

    for (let i = 0; i < 4; i++) await attempt('192.0.2.1', credentials('ada', 'wrong'));
    const locked = await attempt('192.0.2.1', credentials());
    expect(locked.status).toBe(429);
    expect(locked.json()).toMatchObject({ type: expect.stringMatching(/\/too-many-attempts$/) });
    expect(Number(locked.header('retry-after'))).toBeGreaterThan(0);
    expect((await attempt('198.51.100.7', credentials())).status).toBe(201);
    expect((await attempt('192.0.2.1', credentials('bob'))).status).toBe(201);
  });

  it.each([
    ['no JSON', 'hello', [], 400, 'invalid-body'],
    ['an array', '[]', [], 400, 'invalid-body'],
    [
      'a form',
      'method=visitor',
      [['Content-Type', 'application/x-www-form-urlencoded']],
      415,
      'unsupported-media-type',
    ],
    ['a method that is not offered', '{"method":"oidc"}', [], 400, 'unknown-login-method'],
    ['no method', '{}', [], 400, 'unknown-login-method'],
    ['17 KiB', JSON.stringify({ method: 'x'.repeat(17 * 1024) }), [], 413, 'body-too-large'],
  ] as const)('refuses to log in with %s', async (_name, body, headers, status, code) => {
    await start(door);
    const response = await anonymous().fetch('POST', '/-/session', { body, headers });
    expect(response.status).toBe(status);
    expect(response.header('content-type')).toBe('application/problem+json');
    expect(response.json()).toMatchObject({ status, type: expect.stringMatching(new RegExp(`/${code}$`)) });
    expect(response.header('set-cookie')).toBeUndefined();
  });

  it('asks a client for its body that waits to be asked', async () => {
    await start(door);
    const client = await anonymous().connect();
    const headers = [
      ['Content-Length', '20'],
      ['Expect', '100-continue'],
    ] as const;
    client.send(anonymous().bytes('POST', '/-/session', { headers, body: '' }));
    expect((await client.head())?.status).toBe(100);
    client.send('{"method":"visitor"}');
    expect(await client.response('POST')).toMatchObject({ status: 201, interim: [] });
    client.destroy();
  });

  it('a client that leaves in the middle of signing in is no defect of the gateway', async () => {
    await start(door);
    const client = await anonymous().connect();
    client.send(
      anonymous().bytes('POST', '/-/session', {
        headers: [
          ['Content-Length', '100'],
          ['Expect', '100-continue'],
        ],
        body: '',
      }),
    );
    expect((await client.head())?.status).toBe(100);
    client.send('{"method":').destroy();
    await expect.poll(() => gateway.audit.join('')).toMatch(/"code":"(?:malformed-request|internal)"/);
    expect(gateway.log.join('')).not.toContain('defect');
  });

  it('limits how many sessions an address may open', async () => {
    await start(door, { limits: { sessionCreation: { requests: 2, per: '1m' } } });
    await signIn('{"method":"visitor"}');
    await signIn('{"method":"visitor"}');
    const refused = await anonymous().fetch('POST', '/-/session', { body: '{"method":"visitor"}' });
    expect(refused.status).toBe(429);
    expect(refused.header('ratelimit')).toMatch(/^"session-creation";r=0;t=\d+$/);
    expect(refused.header('ratelimit-policy')).toBe('"session-creation";q=2;w=60');
    now += 2 * MINUTE;
    await signIn('{"method":"visitor"}');
  });
});

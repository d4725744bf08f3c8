import { describe, expect, it, onTestFinished } from 'vitest';
import { Secret } from '../../src/secret.ts';
import type { ServiceOptions } from '../../src/service/server.ts';
import { DIALECTS } from '../../src/signing/dialect.ts';
import { Keypair } from '../../src/tenant.ts';
import { ADMIN, type CallOptions, call, codeOf, exchange, INACTIVE, signedHeaders, start, USER } from './client.ts';

const NOON = Date.UTC(2026, 2, 15, 12);

async function serve(options: Partial<ServiceOptions> = {}) {
  const service = await start({ clock: () => NOON, ...options });
  onTestFinished(() => service.close());
  return service;
}

describe('a missing Authorization header', () => {
  it('is 401 with exactly type, title and detail, and the rate headers (service-api.md §7)', async () => {
    const service = await serve({ problemBase: 'https://problems.example' });
    const reply = await call(service, 'GET', '/v2/kernel/create', { at: NOON, headers: { Authorization: undefined } });
    expect(reply.status).toBe(401);
    expect(reply.headers['content-type']).toBe('application/problem+json');
    expect(reply.body).toEqual({
      type: 'https://problems.example/unauthorized',
      title: 'Unauthorized access',
      detail: 'The Authorization header is missing.',
    });
    expect(reply.headers).toMatchObject({
      'x-ratelimit-limit': '30000',
      'x-ratelimit-remaining': '29999',
      'x-ratelimit-reset': '900',
    });
  });

  it('comes before everything else: an unknown path does not show', async () => {
    const service = await serve();
    const reply = await call(service, 'GET', '/nowhere', { at: NOON, headers: { Authorization: undefined } });
    expect([reply.status, codeOf(reply)]).toEqual([401, 'unauthorized']);
  });
});

describe('a credential that is not valid', () => {
  it('gives no oracle: unknown key, inactive key and wrong signature are answered alike', async () => {
    // Whoever can tell the three apart can list which access keys exist.
    const service = await serve();
    const strangers = [
      new Keypair('AKIANOBODY', new Secret('x')),
      INACTIVE,
      new Keypair(USER.accessKey, new Secret('wrong')),
    ];
    const replies = [];
    for (const as of strangers) {
      const { status, text, headers } = await call(service, 'GET', '/v2', { at: NOON, as });
      const { 'x-ratelimit-remaining': _, ...rest } = headers;
      replies.push({ status, text, rest });
    }
    expect(replies[0]?.status).toBe(401);
    expect(replies[1]).toEqual(replies[0]);
    expect(replies[2]).toEqual(replies[0]);
  });

  it.each([
    ['method', 'POST', '/v2', {}],
    ['path', 'GET', '/v2/kernel', {}],
    ['query', 'GET', '/v2?', {}],
    ['Host', 'GET', '/v2', { Host: 'elsewhere.example' }],
    ['Content-Type', 'GET', '/v2', { 'Content-Type': 'application/json; charset=utf-8' }],
    ['version', 'GET', '/v2', { 'X-Service-Version': 'v4.20190314' }],
    ['date', 'GET', '/v2', { Date: '20260315T120001Z' }],
  ])('is a signature of another %s', async (_what, method, path, headers) => {
    const service = await serve();
    const signed = signedHeaders('GET', '/v2', `127.0.0.1:${service.port}`, { at: NOON });
    const reply = await call(service, method, path, { at: NOON, headers: { ...signed, ...headers } });
    expect([reply.status, codeOf(reply)]).toEqual([401, 'unauthorized']);
  });

  it('is a signature of another body', async () => {
    const service = await serve();
    const host = `127.0.0.1:${service.port}`;
    const signed = signedHeaders('POST', '/v2/kernel/create', host, { at: NOON, body: { lang: 'python' } });
    const reply = await call(service, 'POST', '/v2/kernel/create', { body: { lang: 'ruby' }, headers: signed });
    expect([reply.status, codeOf(reply)]).toEqual([401, 'unauthorized']);
  });
});

describe('authentication parameters', () => {
  const refused: [string, CallOptions][] = [
    ['another scheme', { headers: { Authorization: 'Basic QUtJQTpzZWNyZXQ=' } }],
    [
      'another hash function',
      { headers: { Authorization: `Service signMethod=HMAC-MD5, credential=A:${'0'.repeat(64)}` } },
    ],
    ['a short signature', { headers: { Authorization: 'Service signMethod=HMAC-SHA256, credential=A:00' } }],
    ['no date', { headers: { Date: undefined } }],
    ['no real date', { headers: { Date: '20260231T120000Z' } }],
    ['no version', { headers: { 'X-Service-Version': undefined } }],
    ['a clock 15 minutes and a second behind', { at: NOON - 901_000 }],
    ['a clock 15 minutes and a second ahead', { at: NOON + 901_000 }],
    ['two versions', { headers: { 'X-Service-Version': ['v4.20190315', 'v4.20190315'] } }],
    ['two dates', { headers: { 'X-Service-Date': ['20260315T120000Z', '20260315T120001Z'], Date: undefined } }],
  ];
  it.each(refused)('with %s are 400', async (_what, options) => {
    const service = await serve();
    const reply = await call(service, 'GET', '/v2', { at: NOON, ...options });
    expect([reply.status, codeOf(reply)]).toEqual([400, 'invalid-auth-params']);
    expect(Object.keys(reply.body)).toEqual(['type', 'title', 'detail']);
    expect(reply.headers['x-ratelimit-remaining']).toBe('29999');
  });

  it('with two Authorization headers are 400', async () => {
    const service = await serve();
    const headers = Object.entries(signedHeaders('GET', '/v2', 'service.example', { at: NOON }));
    const second = ['Authorization', `Service signMethod=HMAC-SHA256, credential=A:${'0'.repeat(64)}`] as const;
    const lines = [...headers, second, ['Connection', 'close']].map(([name, value]) => `${name}: ${value}\r\n`);
    const reply = await exchange(service, `GET /v2 HTTP/1.1\r\n${lines.join('')}\r\n`);
    expect(reply).toMatch(/^HTTP\/1\.1 400 [\s\S]*\/invalid-auth-params"/);
  });

  it.each([NOON - 900_000, NOON + 900_000])('may be exactly 15 minutes off', async (at) => {
    expect((await call(await serve(), 'GET', '/v2', { at })).status).toBe(200);
  });

  it.each(['4.20190315', 'v4', 'v4.2019', 'v0.20190315', 'v4.20190315x', 'latest', 'v5.20190315', 'v9999.20190315'])(
    'with the version %s are 400',
    async (version) => {
      const reply = await call(await serve(), 'GET', '/v2', { at: NOON, version });
      expect([reply.status, codeOf(reply)]).toEqual([400, 'unsupported-version']);
    },
  );

  it.each(['v3.20170615', 'v4.20190314', 'v4.20991231'])('may ask for version %s', async (version) => {
    expect((await call(await serve(), 'GET', '/v2', { at: NOON, version })).status).toBe(200);
  });
});

it('speaks the dialect it is given', async () => {
  const service = await serve({ dialect: DIALECTS['backend.ai'] });
  const signed: CallOptions = { at: NOON, body: { lang: 'python' }, dialect: DIALECTS['backend.ai'] };
  // That dialect signs the hash of an empty body, and the date as the header has it.
  const host = `127.0.0.1:${service.port}`;
  const headers = signedHeaders('POST', '/v2/kernel/create', host, { at: NOON, dialect: DIALECTS['backend.ai'] });
  expect((await call(service, 'POST', '/v2/kernel/create', { ...signed, headers })).status).toBe(201);
  expect((await call(service, 'GET', '/v2', { at: NOON, as: ADMIN })).status).toBe(400);
});

it('tells the time by its own clock, so that a client can see the skew', async () => {
  const reply = await call(await serve(), 'GET', '/v2', { at: NOON });
  expect(reply.headers.date).toBe('Sun, 15 Mar 2026 12:00:00 GMT');
});

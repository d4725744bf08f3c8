import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { type RequestOptions as TlsRequestOptions, request as tlsRequest } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { ROOT } from '../kit/cli.ts';
import { startGateway, type TestGateway } from '../kit/gateway.ts';
import { startOperator, type TestOperator } from '../kit/operator.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

const TOKEN = 'an-operator-token-of-some-length';

let upstream: StrictUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  ({ upstream, gateway } = await startGateway());
});
afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

interface Answer {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** node:http rather than fetch, which would not let a Host or an Origin be set. */
async function ask(origin: string, path: string, options: TlsRequestOptions & { body?: string } = {}): Promise<Answer> {
  const { body, ...rest } = options;
  const send = origin.startsWith('https:') ? tlsRequest : request;
  const sent = send(`${origin}${path}`, { agent: false, ...rest }).end(body);
  const [response] = await once(sent, 'response');
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

describe('with a token', () => {
  let operator: TestOperator;
  beforeAll(async () => {
    operator = await startOperator(gateway.watched, { settings: { token: new Secret(TOKEN) } });
  });
  afterAll(() => operator.close());

  it.each(['/api/status', '/api/sessions?tenant=acme', '/metrics', '/openapi.json', '/api/nothing'])(
    '%s needs it, and says so',
    async (path) => {
      const refused = await ask(operator.origin, path);
      expect(refused.status).toBe(401);
      expect(refused.headers['content-type']).toBe('application/problem+json');
      expect(refused.headers['www-authenticate']).toBe('Bearer realm="countersign operator"');
      expect(JSON.parse(refused.body)).toMatchObject({ type: expect.stringMatching(/\/unauthorized$/), status: 401 });
    },
  );

  it.each([
    'Bearer wrong',
    `Bearer ${TOKEN}x`,
    `Bearer ${TOKEN.slice(0, -1)}`,
    `Basic ${TOKEN}`,
    TOKEN,
    'Bearer ',
    'Bearer',
  ])('is not let in by Authorization: %s', async (authorization) => {
    const refused = await ask(operator.origin, '/api/status', { headers: { Authorization: authorization } });
    expect(refused.status).toBe(401);
    expect(refused.headers['www-authenticate']).toContain('Bearer');
  });

  it('lets in who has it, under whatever name it is reached', async () => {
    const headers = { Authorization: `bearer ${TOKEN}`, Host: 'operator.internal.example' };
    expect((await ask(operator.origin, '/api/status', { headers })).status).toBe(200);
    const level = { method: 'PUT', body: '{"level":"info"}', headers };
    expect((await ask(operator.origin, '/api/log-level', level)).status).toBe(200);
  });

  it.each(['/livez', '/readyz', '/', '/page/main.js'])('%s needs none', async (path) => {
    expect((await ask(operator.origin, path)).status).toBe(200);
  });

  it('says nothing of addresses or keys to those without it', async () => {
    const { body } = await ask(operator.origin, '/readyz');
    expect(body).toContain('acme');
    expect(body).not.toContain(String(upstream.port));
    expect(body).not.toContain('AKIA');
  });
});

describe('without a token', () => {
  let operator: TestOperator;
  beforeAll(async () => {
    operator = await startOperator(gateway.watched);
  });
  afterAll(() => operator.close());

  it.each(['localhost', 'localhost:9090', '127.0.0.1:80', '127.9.9.9', '[::1]:9090', 'LOCALHOST'])(
    'answers to Host %s',
    async (host) => {
      expect((await ask(operator.origin, '/api/tenants', { headers: { Host: host } })).status).toBe(200);
    },
  );

  // A page of attacker.example whose name was made to resolve to 127.0.0.1 is same-origin to the browser, and could
  // read all this listener says. What gives it away is the name it was asked by.
  it.each(['attacker.example', 'attacker.example:9090', '10.0.0.1', 'localhost.attacker.example', '127.0.0.1.nip.io'])(
    'refuses Host %s, for DNS rebinding',
    async (host) => {
      for (const path of ['/api/tenants', '/metrics', '/']) {
        const refused = await ask(operator.origin, path, { headers: { Host: host }, setHost: false });
        expect([path, refused.status]).toEqual([path, 403]);
        expect(refused.body).not.toContain('acme');
      }
    },
  );

  it('lets no page of another site make a change', async () => {
    const attempts: Record<string, string>[] = [
      {},
      { Origin: 'https://attacker.example' },
      { Origin: 'https://attacker.example', 'X-Countersign': '1' },
      { 'Sec-Fetch-Site': 'cross-site', 'X-Countersign': '1' },
      { 'Sec-Fetch-Site': 'same-site', 'X-Countersign': '1' },
      { Origin: 'null', 'X-Countersign': '1' },
      { Origin: `http://127.0.0.1:${operator.port + 1}`, 'X-Countersign': '1' },
    ];
    for (const headers of attempts) {
      const answer = await ask(operator.origin, '/api/sessions?tenant=acme', { method: 'DELETE', headers });
      expect(answer.status).toBe(403);
      expect(JSON.parse(answer.body)).toMatchObject({ type: expect.stringMatching(/\/csrf$/) });
    }
    expect(operator.actions).toEqual([]);
  });

  it('lets its own page and a command line make one', async () => {
    for (const more of [{}, { Origin: operator.origin, 'Sec-Fetch-Site': 'same-origin' }]) {
      const headers = { 'X-Countersign': '1', ...more };
      const answer = await ask(operator.origin, '/api/sessions?tenant=nobody', { method: 'DELETE', headers });
      expect([answer.status, answer.body]).toEqual([200, '{"ended":0}']);
    }
  });

  it('can be read by no other origin and framed by nobody', async () => {
    const { headers } = await ask(operator.origin, '/api/status', { headers: { Origin: 'https://attacker.example' } });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
    expect(headers['cross-origin-resource-policy']).toBe('same-origin');
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(headers['cache-control']).toBe('no-store');
  });

  it('refuses a body that is larger than anything it takes', async () => {
    const headers = { 'X-Countersign': '1' };
    const answer = await ask(operator.origin, '/api/log-level', { method: 'PUT', headers, body: 'x'.repeat(5000) });
    expect(answer.status).toBe(413);
  });
});

describe('with client certificates', () => {
  const pem = (name: string) => readFileSync(join(ROOT, 'test/kit/tls', name), 'utf8');
  let operator: TestOperator;
  beforeAll(async () => {
    const tls = { cert: pem('loopback.pem'), key: new Secret(pem('loopback.key')), clientCa: pem('loopback.pem') };
    operator = await startOperator(gateway.watched, { settings: { tls } });
  });
  afterAll(() => operator.close());

  it('lets in a client of that authority', async () => {
    const options = { ca: pem('loopback.pem'), cert: pem('loopback.pem'), key: pem('loopback.key') };
    expect((await ask(operator.origin, '/api/tenants', options)).status).toBe(200);
  });

  it('breaks off the handshake of any other', async () => {
    const stranger = { ca: pem('loopback.pem'), cert: pem('elsewhere.pem'), key: pem('elsewhere.key') };
    await expect(ask(operator.origin, '/livez', stranger)).rejects.toThrow();
    await expect(ask(operator.origin, '/livez', { ca: pem('loopback.pem') })).rejects.toThrow();
  });
});

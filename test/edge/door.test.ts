import { afterEach, describe, expect, it } from 'vitest';
import { FrontEnd, HTTP, ORIGIN } from '../kit/front-end.ts';
import { DOORS, type StartOptions, startGateway, type TestGateway } from '../kit/gateway.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

let upstream: StrictUpstream;
let gateway: TestGateway;

async function start(options: StartOptions = {}): Promise<FrontEnd> {
  ({ upstream, gateway } = await startGateway(options));
  return new FrontEnd(gateway.port, '');
}

afterEach(async () => {
  await gateway.close();
  await upstream.close();
});

if (HTTP === 'HTTP/1.1') {
  it('serves a request whose Upgrade it does not take up, and closes: what is pipelined behind it may be lost', async () => {
    await start();
    const page = await FrontEnd.signIn(gateway.port);
    const headers = [
      ['Connection', 'Upgrade'],
      ['Upgrade', 'h2c'],
    ] as const;
    const response = await page.fetch('GET', '/v2', { headers });
    expect([response.status, response.header('connection')]).toEqual([200, 'close']);
  });
}

describe.each(DOORS)('the door %s', (door) => {
  it('answers /-/livez under any Host, for a probe knows none', async () => {
    await start({ door });
    const probe = new FrontEnd(gateway.port, '', '10.1.2.3:8080');
    expect((await probe.fetch('GET', '/-/livez')).status).toBe(200);
  });

  it.each(['other.test', 'console.test.evil.test', 'evil-console.test', 'console.test:81', 'console.test.'])(
    'serves no tenant under the Host %s',
    async (host) => {
      await start({ door });
      const response = await new FrontEnd(gateway.port, '', host).fetch('GET', '/v2');
      expect(response.status).toBe(421);
      expect(response.json()).toMatchObject({ type: expect.stringMatching(/\/unknown-tenant$/) });
      expect(response.header('x-ratelimit-limit')).toMatch(/^\d+$/);
    },
  );

  it('knows its Host in any case, and with the scheme’s own port', async () => {
    await start({ door });
    for (const host of ['CONSOLE.test', 'console.test:80']) {
      expect((await new FrontEnd(gateway.port, '', host).fetch('GET', '/v2')).status).toBe(401);
    }
  });

  it('counts requests against the client’s address, and says so in both vocabularies', async () => {
    const page = await start({ door, limits: { address: { requests: 3, per: '1h' } } });
    const answers = [];
    for (let i = 0; i < 4; i++) answers.push(await page.fetch('GET', '/v2'));
    expect(answers.map((response) => [response.status, response.header('x-ratelimit-remaining')])).toEqual([
      [401, '2'],
      [401, '1'],
      [401, '0'],
      [429, '0'],
    ]);
    const refused = answers[3];
    expect(refused?.header('ratelimit')).toMatch(/^"address";r=0;t=\d+$/);
    expect(refused?.header('ratelimit-policy')).toBe('"address";q=3;w=3600');
    expect(Number(refused?.header('retry-after'))).toBeGreaterThan(0);
  });

  it('counts each client behind a trusted proxy by itself, and believes nobody else', async () => {
    const limits = { address: { requests: 1, per: '1h' } };
    const ask = (page: FrontEnd, client: string) =>
      page.fetch('GET', '/v2', { headers: [['X-Forwarded-For', client]] });
    const trusting = await start({ door, limits, listen: { trustProxies: ['127.0.0.0/8'] } });
    expect((await ask(trusting, '192.0.2.1')).status).toBe(401);
    expect((await ask(trusting, '192.0.2.2')).status).toBe(401);
    // What the client itself wrote stands left of what the proxy saw.
    expect((await ask(trusting, '203.0.113.9, 192.0.2.1')).status).toBe(429);
    await gateway.close();
    await upstream.close();

    const wary = await start({ door, limits });
    expect((await ask(wary, '192.0.2.1')).status).toBe(401);
    expect((await ask(wary, '192.0.2.2')).status).toBe(429);
  });

  it('limits a session and a tenant as a whole', async () => {
    await start({ door, limits: { session: { requests: 1, per: '1h' }, tenant: { requests: 3, per: '1h' } } });
    const [one, two] = [await FrontEnd.signIn(gateway.port), await FrontEnd.signIn(gateway.port)];
    expect((await one.fetch('GET', '/v2')).status).toBe(200);
    expect((await one.fetch('GET', '/v2')).header('ratelimit-policy')).toBe('"session";q=1;w=3600');
    expect((await two.fetch('GET', '/v2')).status).toBe(200);
    const three = await FrontEnd.signIn(gateway.port);
    expect((await three.fetch('GET', '/v2')).status).toBe(200);
    const four = await FrontEnd.signIn(gateway.port);
    expect((await four.fetch('GET', '/v2')).header('ratelimit-policy')).toBe('"tenant";q=3;w=3600');
  });

  it('once there is a permit, its problems carry the keypair’s own figures as last seen', async () => {
    const figures = [
      ['X-RateLimit-Limit', '30000'],
      ['X-RateLimit-Remaining', '29871'],
      ['X-RateLimit-Reset', '900000'],
    ] as const;
    await start({
      door,
      respond: (request, answer) =>
        request.target === '/v2/dead' ? answer.reset() : answer.json(200, {}, [...figures]),
    });
    const page = await FrontEnd.signIn(gateway.port);
    await page.fetch('GET', '/v2');
    const problem = await page.fetch('POST', '/v2/dead', { body: '{}' });
    expect(problem.status).toBe(502);
    expect(figures.map(([name]) => problem.header(name.toLowerCase()))).toEqual(figures.map(([, value]) => value));
  });

  it('answers OPTIONS itself: to an own origin with what it may send, to a foreign one with nothing', async () => {
    const page = await start({ door });
    const preflight = (origin: string) =>
      page.fetch('OPTIONS', '/v2', {
        headers: [
          ['Origin', origin],
          ['Access-Control-Request-Method', 'PUT'],
        ],
      });
    const own = await preflight(ORIGIN);
    expect(own.status).toBe(204);
    expect(own.header('access-control-allow-origin')).toBe(ORIGIN);
    expect(own.header('access-control-allow-methods')).toContain('REPORT');
    expect(own.header('access-control-allow-headers')).toContain('X-Service-Client-Token');
    const foreign = await preflight('https://evil.example');
    expect(foreign.status).toBe(204);
    expect(foreign.header('access-control-allow-origin')).toBeUndefined();
    expect(upstream.heads).toEqual([]);
  });

  it('lets an own origin read answers and refusals, and no other; the upstream has no say in it', async () => {
    await start({
      door,
      respond: (_, answer) => answer.json(200, {}, [['Access-Control-Allow-Origin', '*']]),
    });
    const page = await FrontEnd.signIn(gateway.port);
    for (const target of ['/v2', '/nowhere', '/-/session']) {
      const own = await page.fetch('GET', target, { headers: [['Origin', ORIGIN]] });
      expect(own.header('access-control-allow-origin'), target).toBe(ORIGIN);
      expect(own.header('access-control-allow-credentials')).toBe('true');
      expect(own.header('access-control-expose-headers')).toContain('X-RateLimit-Remaining');
      const foreign = await page.fetch('GET', target, { headers: [['Origin', 'https://evil.example']] });
      expect(foreign.header('access-control-allow-origin'), target).toBeUndefined();
    }
  });

  it.each(['TRACE', 'PROPFIND', 'M-SEARCH'])('takes no %s', async (method) => {
    const page = await start({ door });
    const response = await page.fetch(method, '/v2');
    expect(response.status).toBe(405);
    expect(response.header('allow')).toContain('REPORT');
  });
});

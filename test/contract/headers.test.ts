import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Pairs } from '../kit/answer.ts';
import { FrontEnd, HOST, HTTP, ORIGIN } from '../kit/front-end.ts';
import { DOORS, startGateway, type TestGateway } from '../kit/gateway.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

/*
 * What crosses the gateway and what does not, in both directions. The request side is an allow-list, so the attacks below
 * are examples: headers that would let a browser speak with the tenant's keypair in a voice nobody judged.
 */

/** HTTP/2 has no such headers; what becomes of them there is in test/edge/http2.test.ts. */
const CONNECTION_SPECIFIC: readonly [string, string][] =
  HTTP === 'HTTP/2'
    ? []
    : [
        ['Proxy-Connection', 'keep-alive-evil'],
        ['Keep-Alive', 'timeout=evil'],
        ['TE', 'trailers, evil'],
        ['Upgrade', 'h2c-evil'],
        ['HTTP2-Settings', 'evil'],
      ];

describe.each(DOORS)('headers, through the door %s', (door) => {
  let upstream: StrictUpstream;
  let gateway: TestGateway;
  let page: FrontEnd;
  let answer: { status: number; headers: Pairs; body: string } | undefined;

  beforeAll(async () => {
    ({ upstream, gateway } = await startGateway({
      door,
      upstream: { passHeaders: ['X-Tenant-Extra'] },
      respond: async (request, reply) => {
        if (answer !== undefined && request.verdict.ok) await reply.send(answer.status, answer.headers, answer.body);
      },
    }));
    page = await FrontEnd.signIn(gateway.port);
  });

  afterAll(async () => {
    await gateway.close();
    await upstream.close();
  });

  beforeEach(() => {
    answer = undefined;
    upstream.requests.length = 0;
  });

  /** Header names and values the upstream got for a request with these. */
  async function arriving(headers: Pairs, method = 'GET'): Promise<readonly (readonly [string, string])[]> {
    const response = await page.fetch(method, '/v2/x', { headers });
    expect(response.status).toBe(200);
    expect(upstream.violations).toEqual([]);
    return (
      upstream.requests.at(-1)?.rawHeaders.map(([name, value]) => [name.toLowerCase(), value.trim()] as const) ?? []
    );
  }

  describe('to the upstream', () => {
    it.each<[string, string]>([
      ['Authorization', 'Service signMethod=HMAC-SHA256, credential=EVIL:0'],
      ['X-Service-Date', '20000101T000000Z'],
      ['Date', '20000101T000000Z'],
      ['X-Service-Version', 'v1.20000101'],
      ['X-Service-Signature', 'evil'],
      ['X-BackendAI-Date', '20000101T000000Z'],
      ['X-BackendAI-Version', 'v1.20000101'],
      ['X-BackendAI-SSO', 'evil'],
      // CGI, WSGI and friends fold `_` to `-`: to them these are the headers above.
      ['X_Service_Date', '20000101T000000Z'],
      ['X_Service_Version', 'v1.20000101'],
      ['X_Forwarded_For', 'evil'],
      ['Content_Type', 'evil/evil'],
      ['Proxy-Authorization', 'Basic evil'],
      ...CONNECTION_SPECIFIC,
      ['Trailer', 'X-Evil'],
      ['X-HTTP-Method-Override', 'DELETE-evil'],
      ['X-HTTP-Method', 'DELETE-evil'],
      ['X-Method-Override', 'DELETE-evil'],
      ['X-Original-URL', '/evil'],
      ['X-Rewrite-URL', '/evil'],
      ['Forwarded', 'for=evil'],
      ['X-Forwarded-For', '198.51.100.66'],
      ['X-Forwarded-Host', 'evil.example'],
      ['X-Forwarded-Proto', 'evil'],
      ['X-Forwarded-Prefix', '/evil'],
      ['X-Real-IP', '198.51.100.66'],
      ['True-Client-IP', '198.51.100.66'],
      ['X-Request-ID', 'evil'],
      ['traceparent', '00-e01e01e01e01e01e01e01e01e01e01e0-e01e01e01e01e01e-01'],
      ['tracestate', 'evil=1'],
      ['Origin', ORIGIN],
      ['Referer', `${ORIGIN}/evil`],
      ['Cookie2', 'evil'],
      ['Proxy', 'http://evil.example'],
    ])('%s of the browser never arrives', async (name, value) => {
      const arrived = await arriving([[name, value]]);
      expect(arrived.filter(([, text]) => text.includes(value))).toEqual([]);
      expect(arrived.filter(([field]) => field === name.toLowerCase()).length).toBeLessThanOrEqual(1);
    });

    it('the session cookie never arrives, nor any other', async () => {
      const arrived = await arriving([['X-Cookie', page.cookie]]);
      expect(JSON.stringify(arrived)).not.toContain(page.cookie.split('=')[1]);
      expect(arrived.some(([name]) => name === 'cookie')).toBe(false);
    });

    // The Service would take the compressed bytes for JSON, and what they say could not be judged.
    it('a request whose body is encoded is refused', async () => {
      const response = await page.fetch('POST', '/v2/x', { body: '{}', headers: [['Content-Encoding', 'gzip']] });
      expect(response.status).toBe(415);
      expect(upstream.requests).toEqual([]);
    });

    it('no header with an underscore arrives at all', async () => {
      const arrived = await arriving([
        ['X_Tenant_Extra', 'a'],
        ['Accept_Language', 'b'],
      ]);
      expect(arrived.filter(([name]) => name.includes('_'))).toEqual([]);
    });

    // RFC 9110 §7.6.1: naming a header in Connection makes it hop-by-hop. Honoured for what passes; and never a way to
    // take away what the gateway itself adds (the "hop-by-hop abuse" that strips X-Forwarded-For or a signature).
    if (HTTP === 'HTTP/1.1') {
      it('a header named by Connection does not arrive, and the gateway’s own cannot be named away', async () => {
        const arrived = await arriving([
          [
            'Connection',
            'keep-alive, X-Tenant-Extra, If-None-Match, X-Forwarded-For, Authorization, X-Service-Version, Host',
          ],
          ['X-Tenant-Extra', 'a'],
          ['If-None-Match', '"b"'],
        ]);
        const names = arrived.map(([name]) => name);
        expect(names).not.toContain('x-tenant-extra');
        expect(names).not.toContain('if-none-match');
        expect(names).toEqual(
          expect.arrayContaining(['x-forwarded-for', 'authorization', 'x-service-version', 'host']),
        );
      });
    }

    it.each<[string, string]>([
      ['Accept', 'application/json;q=0.9, */*'],
      ['Accept-Language', 'ko-KR'],
      ['Accept-Encoding', 'gzip, br'],
      ['If-None-Match', '"etag", W/"weak"'],
      ['If-Match', '*'],
      ['If-Modified-Since', 'Sun, 15 Mar 2026 01:02:03 GMT'],
      ['If-Unmodified-Since', 'Sun, 15 Mar 2026 01:02:03 GMT'],
      ['If-Range', '"etag"'],
      ['Range', 'bytes=0-99'],
      ['Last-Event-ID', '42'],
      ['User-Agent', 'Mozilla/5.0 (test)'],
      ['User-Agent', 'caf\u00e9\u00ff'],
      ['X-Service-Client-Token', 'a-token'],
      ['X-Tenant-Extra', 'passed by passHeaders'],
    ])('%s arrives as it is', async (name, value) => {
      expect(await arriving([[name, value]])).toContainEqual([name.toLowerCase(), value]);
    });

    it('the gateway says who is asking, and for which site', async () => {
      const arrived = await arriving([]);
      expect(arrived).toContainEqual(['x-forwarded-for', '127.0.0.1']);
      expect(arrived).toContainEqual(['x-forwarded-host', HOST]);
      expect(arrived).toContainEqual(['x-forwarded-proto', 'http']);
      expect(arrived).toContainEqual(['x-request-id', expect.stringMatching(/^[0-9a-f]{32}$/)]);
      expect(arrived).toContainEqual(['host', upstream.origin.slice('http://'.length)]);
    });

    it('a request without a body is sent with the content type it is signed with', async () => {
      expect(await arriving([])).toContainEqual(['content-type', 'application/json']);
    });

    it.each([
      'X-Service-Date',
      'X-Service-Version',
      'Cookie',
      'Authorization',
      'X-Forwarded-For',
      'X_Extra',
      'Transfer-Encoding',
    ])('passHeaders cannot name %s', async (name) => {
      const start = startGateway({ upstream: { passHeaders: [name] } }).then(async (started) => {
        await started.gateway.close();
        await started.upstream.close();
      });
      await expect(start).rejects.toMatchObject({ name: 'ConfigError' });
    });
  });

  describe('to the browser', () => {
    async function relayed(headers: Pairs, status = 200, body = '{}') {
      answer = { status, headers, body };
      const response = await page.fetch('GET', '/v2/x');
      expect(response.status).toBe(status);
      expect(response.body.toString()).toBe(body);
      return response;
    }

    it('hop-by-hop headers and those named by Connection stay behind', async () => {
      const response = await relayed([
        ['Connection', 'keep-alive, X-Internal-Hop'],
        ['X-Internal-Hop', 'secret'],
        ['Keep-Alive', 'timeout=99'],
        ['Proxy-Authenticate', 'Basic'],
        ['Trailer', 'X-Sum'],
        ['Upgrade', 'h2c'],
        ['X-Visible', 'yes'],
      ]);
      expect(response.header('x-internal-hop')).toBeUndefined();
      expect(response.header('proxy-authenticate')).toBeUndefined();
      expect(response.header('trailer')).toBeUndefined();
      expect(response.header('upgrade')).toBeUndefined();
      expect(response.header('keep-alive') ?? '').not.toContain('99');
      expect(response.header('x-visible')).toBe('yes');
    });

    it('the upstream’s cookies stay behind', async () => {
      const response = await relayed([
        ['Set-Cookie', 'session=planted; Path=/'],
        ['Set-Cookie', 'a=b'],
      ]);
      expect(response.headers('set-cookie')).toEqual([]);
    });

    it('the upstream’s idea of who may read it from elsewhere stays behind', async () => {
      const response = await relayed([
        ['Access-Control-Allow-Origin', '*'],
        ['Access-Control-Allow-Credentials', 'true'],
      ]);
      expect(response.header('access-control-allow-origin')).toBeUndefined();
      expect(response.header('access-control-allow-credentials')).toBeUndefined();
    });

    it('no header of the head is there twice', async () => {
      const response = await relayed([
        ['Date', 'Sun, 15 Mar 2026 01:02:03 GMT'],
        ['Connection', 'keep-alive'],
        ['X-Request-ID', 'theirs'],
        ['Content-Type', 'application/json'],
      ]);
      const names = response.rawHeaders.map(([name]) => name.toLowerCase());
      expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
      expect(response.header('date')).toBe('Sun, 15 Mar 2026 01:02:03 GMT');
      expect(response.header('x-request-id')).toMatch(/^[0-9a-f]{32}$/);
    });

    it('X-RateLimit-* arrive verbatim, once each', async () => {
      const response = await relayed([
        ['X-RateLimit-Limit', '007'],
        ['X-RateLimit-Remaining', '0'],
        ['X-RateLimit-Reset', '1773536523'],
      ]);
      expect(response.headers('x-ratelimit-limit')).toEqual(['007']);
      expect(response.headers('x-ratelimit-remaining')).toEqual(['0']);
      expect(response.headers('x-ratelimit-reset')).toEqual(['1773536523']);
    });

    it('several Link headers stay several, those to the upstream pointing at the tenant’s own origin', async () => {
      const response = await relayed([
        ['Link', `<${upstream.origin}/v2/kernels?page=2>; rel="next", </v2/kernels?page=1>; rel="first"`],
        ['Link', '<https://docs.example/x>; rel="help"'],
      ]);
      expect(response.headers('link')).toEqual([
        `<${ORIGIN}/v2/kernels?page=2>; rel="next", </v2/kernels?page=1>; rel="first"`,
        '<https://docs.example/x>; rel="help"',
      ]);
    });

    it.each([
      ['on the upstream', (origin: string) => `${origin}/v2/x?y#z`, `${ORIGIN}/v2/x?y#z`],
      ['on the upstream in capitals', (origin: string) => `${origin.toUpperCase()}/v2`, `${ORIGIN}/v2`],
      ['that is a path', () => '/v2/x', '/v2/x'],
      ['on another host', () => 'https://other.example/v2', 'https://other.example/v2'],
      // A prefix is not a host: the port goes on, or another label follows.
      ['on a host that begins like the upstream', (origin: string) => `${origin}0/v2`, undefined],
      ['on a host that has the upstream for a label', (origin: string) => `${origin}.evil.example/v2`, undefined],
    ] as const)('a Location %s is seen from the browser', async (_, location, expected) => {
      const sent = location(upstream.origin);
      const response = await relayed([['Location', sent]], 201);
      expect(response.headers('location')).toEqual([expected ?? sent]);
    });

    it('a problem of the Service passes untouched', async () => {
      const problem = '{ "type": "https://x.example/unauthorized", "title":"t",  "detail":"d" }';
      const response = await relayed([['Content-Type', 'application/problem+json']], 403, problem);
      expect(response.header('content-type')).toBe('application/problem+json');
    });

    it.each([200, 201, 202, 206, 301, 400, 404, 409, 418, 429, 500, 503, 599])(
      'the status %i passes',
      async (status) => {
        await relayed([['ETag', '"x"']], status);
      },
    );

    // A value with a line end in it would let the upstream write headers, or a second response, for the browser.
    it('a header with a control byte is refused as a whole', async () => {
      answer = { status: 200, headers: [['X-A', 'a\u0001b']], body: '{}' };
      const response = await page.fetch('GET', '/v2/x');
      expect(response.status).toBe(502);
      expect(response.json()).toMatchObject({ type: expect.stringMatching(/\/upstream-failed$/) });
    });
  });
});

describe('behind a proxy the operator trusts', () => {
  it.each<[string, Pairs, string]>([
    ['the address it saw', [['X-Forwarded-For', '198.51.100.7']], '198.51.100.7'],
    // Whatever stands left of the address the proxy itself wrote was written by the client.
    ['not what the client made up', [['X-Forwarded-For', '203.0.113.66, 198.51.100.7']], '198.51.100.7'],
    [
      'not what the client made up in a line of its own',
      [
        ['X-Forwarded-For', '203.0.113.66'],
        ['X-Forwarded-For', '198.51.100.7'],
      ],
      '198.51.100.7',
    ],
    ['past another trusted proxy', [['X-Forwarded-For', '198.51.100.7, 127.0.0.1']], '198.51.100.7'],
    ['its own where it says nothing', [], '127.0.0.1'],
    ['its own where it says nonsense', [['X-Forwarded-For', 'unknown']], '127.0.0.1'],
  ])('the client’s address is %s', async (_, headers, expected) => {
    const { upstream, gateway } = await startGateway({ listen: { trustProxies: ['127.0.0.0/8'] } });
    const page = await FrontEnd.signIn(gateway.port);
    await page.fetch('GET', '/v2/x', { headers });
    await gateway.close();
    await upstream.close();
    expect(upstream.requests[0]?.text).toMatch(new RegExp(`\\r\\nx-forwarded-for: ${expected}\\r\\n`, 'i'));
  });
});

describe('where the operator lets the upstream’s cookies pass', () => {
  it('several stay several', async () => {
    const { upstream, gateway } = await startGateway({
      upstream: { passSetCookie: true },
      respond: (_, answer) =>
        answer.json(200, {}, [
          ['Set-Cookie', 'a=1; Expires=Sun, 15 Mar 2026 01:02:03 GMT'],
          ['Set-Cookie', 'b=2'],
        ]),
    });
    const page = await FrontEnd.signIn(gateway.port);
    const response = await page.fetch('GET', '/v2/x');
    await gateway.close();
    await upstream.close();
    expect(response.headers('set-cookie')).toEqual(['a=1; Expires=Sun, 15 Mar 2026 01:02:03 GMT', 'b=2']);
  });
});

describe('a refusal by the gateway', () => {
  it('carries the rate figures last seen for the caller’s keypair', async () => {
    const { upstream, gateway } = await startGateway({
      respond: ({ target }, answer) => (target === '/v2/breaks' ? answer.reset() : undefined),
    });
    const page = await FrontEnd.signIn(gateway.port);
    await page.fetch('GET', '/v2/x');
    const refusal = await page.fetch('POST', '/v2/breaks', { body: '{}' });
    await gateway.close();
    await upstream.close();
    expect(refusal.status).toBe(502);
    expect(refusal.headers('x-ratelimit-limit')).toEqual(['30000']);
    expect(refusal.headers('x-ratelimit-remaining')).toEqual(['29999']);
    expect(refusal.headers('x-ratelimit-reset')).toEqual(['900']);
    expect(refusal.header('cache-control')).toBe('no-store');
  });
});

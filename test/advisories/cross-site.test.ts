import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connectTo, FrontEnd, HOST, HTTP, ORIGIN } from '../kit/front-end.ts';
import { KEYPAIR, startGateway, type TestGateway } from '../kit/gateway.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

/* What a page of somebody else's, a planted cookie or a lying proxy header could make of a signed-in browser. */

let upstream: StrictUpstream;
let gateway: TestGateway;
let page: FrontEnd;

beforeAll(async () => {
  ({ upstream, gateway } = await startGateway());
  page = await FrontEnd.signIn(gateway.port);
});

afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

beforeEach(() => {
  upstream.requests.length = 0;
  upstream.heads.length = 0;
});

async function send(method: string, target: string, lines: readonly string[], body = '') {
  const client = await connectTo(gateway.port);
  const head = [`${method} ${target} HTTP/1.1`, `Host: ${HOST}`, ...lines];
  if (body !== '') head.push('Content-Type: application/json', `Content-Length: ${body.length}`);
  const response = await client.send(`${head.join('\r\n')}\r\n\r\n${body}`).response(method);
  client.destroy();
  if (response === undefined) throw new Error('no response');
  return response;
}

describe('cross-site request forgery', () => {
  // A form, a fetch or an image of a foreign page carries the cookie of a browser that ignores SameSite.
  const foreign: [string, string[]][] = [
    ['a foreign page', ['Sec-Fetch-Site: cross-site', 'Origin: https://evil.example']],
    ['a sibling subdomain', ['Sec-Fetch-Site: same-site', 'Origin: http://evil.console.test']],
    ['a link, bookmark or address bar', ['Sec-Fetch-Site: none']],
    ['a foreign page in an old browser', ['Origin: https://evil.example']],
    ['a sandboxed frame in an old browser', ['Origin: null']],
    ['the same host on another port', [`Origin: ${ORIGIN}:8080`]],
    ['the same host on another scheme', [`Origin: https://${HOST}`]],
    ['an Origin that begins like the tenant’s', [`Origin: ${ORIGIN}.evil.example`]],
    ['two Origins', [`Origin: ${ORIGIN}`, 'Origin: https://evil.example']],
    ['two values of Sec-Fetch-Site', ['Sec-Fetch-Site: same-origin', 'Sec-Fetch-Site: cross-site']],
    ['a page that says it is both', ['Sec-Fetch-Site: same-origin', 'Origin: https://evil.example']],
    ['no browser, without the header that only scripts can send', []],
  ];
  describe.each(['POST', 'PUT', 'PATCH', 'DELETE', 'REPORT'])('%s', (method) => {
    it.each(foreign)('from %s is refused', async (_, lines) => {
      const response = await send(method, '/v2/x', [`Cookie: ${page.cookie}`, ...lines], '{}');
      expect(response.status).toBe(403);
      expect(response.json()).toMatchObject({ type: expect.stringMatching(/\/csrf$/) });
      expect(upstream.heads).toEqual([]);
    });

    it.each([
      ['the page itself', ['Sec-Fetch-Site: same-origin', `Origin: ${ORIGIN}`]],
      ['the page with no-referrer', ['Sec-Fetch-Site: same-origin', 'Origin: null']],
      ['the page in an old browser', [`Origin: ${ORIGIN}`]],
      ['a script outside a browser', ['X-Countersign: 1']],
    ])('from %s passes', async (_, lines) => {
      expect((await send(method, '/v2/x', [`Cookie: ${page.cookie}`, ...lines], '{}')).status).toBe(200);
    });
  });

  it('can neither sign in nor out', async () => {
    const lines = [`Cookie: ${page.cookie}`, 'Sec-Fetch-Site: cross-site'];
    const signIn = await send('POST', '/-/session', lines, '{"method":"visitor"}');
    expect(signIn.status).toBe(403);
    expect(signIn.headers('set-cookie')).toEqual([]);
    expect((await send('DELETE', '/-/session', lines)).status).toBe(403);
    expect((await page.fetch('GET', '/v2/x')).status).toBe(200);
  });
});

describe('cookie tossing', () => {
  // A sibling subdomain or plain http can plant a second cookie of the same name. Which of two a server takes is luck,
  // and luck may be the attacker's session, where the victim then types in its secrets.
  const planted = `session=${'A'.repeat(43)}`;
  it.each([
    ['before the own one', (own: string) => [`Cookie: ${planted}; ${own}`]],
    ['behind the own one', (own: string) => [`Cookie: ${own}; ${planted}`]],
    ['in a header of its own', (own: string) => [`Cookie: ${own}`, `Cookie: ${planted}`]],
    ['twice the same', (own: string) => [`Cookie: ${own}; ${own}`]],
  ])('%s is refused, and the cookie is cleared', async (_, lines) => {
    const response = await send('GET', '/v2/x', lines(page.cookie));
    expect(response.status).toBe(400);
    expect(response.json()).toMatchObject({ type: expect.stringMatching(/\/duplicate-cookie$/) });
    expect(response.header('set-cookie')).toMatch(/^session=; Max-Age=0/);
    expect(upstream.heads).toEqual([]);
  });

  it.each(['Session', 'session ', '"session"', '\u00a0session', 'session\t'])(
    'the name %j is another cookie',
    async (name) => {
      const response = await send('GET', '/v2/x', [`Cookie: ${page.cookie.replace('session', name)}`]);
      expect(response.status).toBe(401);
    },
  );

  // Session fixation: an id that was known before the sign-in must be worth nothing after it.
  it('a planted id does not become a session by signing in with it', async () => {
    const response = await send(
      'POST',
      '/-/session',
      [`Cookie: ${planted}`, 'Sec-Fetch-Site: same-origin'],
      '{"method":"visitor"}',
    );
    expect(response.status).toBe(201);
    expect(response.header('set-cookie')).not.toContain(planted);
    expect((await send('GET', '/v2/x', [`Cookie: ${planted}`])).status).toBe(401);
  });
});

describe('headers that pretend', () => {
  it('X-Forwarded-Host chooses no tenant and no origin', async () => {
    const lines = [`Cookie: ${page.cookie}`, 'X-Forwarded-Host: evil.example', 'Forwarded: host=evil.example'];
    expect((await send('GET', '/v2/x', lines)).status).toBe(200);
    expect(upstream.requests[0]?.text).not.toContain('evil.example');
  });

  it('X-Forwarded-Proto does not turn the origin into https', async () => {
    await send('GET', '/v2/x', [`Cookie: ${page.cookie}`, 'X-Forwarded-Proto: https']);
    expect(upstream.requests[0]?.text).toMatch(/\r\nx-forwarded-proto: http\r\n/i);
  });

  it('X-HTTP-Method-Override turns no GET into a DELETE', async () => {
    await send('GET', '/v2/x?_method=DELETE', [`Cookie: ${page.cookie}`, 'X-HTTP-Method-Override: DELETE']);
    expect(upstream.requests.map(({ method, text }) => [method, /override/i.test(text)])).toEqual([['GET', false]]);
  });

  if (HTTP === 'HTTP/1.1') {
    // h2c smuggling: the upgrade opens a tunnel through proxies that pass it on, with no request in it judged any more.
    it('an upgrade to h2c is no upgrade', async () => {
      const lines = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA'];
      const response = await send('GET', '/v2/x', [`Cookie: ${page.cookie}`, ...lines]);
      expect(response.status).toBe(200);
      expect(upstream.requests[0]?.text).not.toMatch(/h2c|http2-settings|upgrade/i);
    });
  }
});

describe('the log', () => {
  it('has a line for every request above and neither a cookie, a secret nor a signature in it', () => {
    const log = gateway.log.join('');
    expect(gateway.log.length).toBeGreaterThan(50);
    expect(log).not.toContain(page.cookie.split('=')[1]);
    expect(log).not.toContain(KEYPAIR.secretKey);
    expect(log).not.toContain('signMethod');
  });
});

import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FrontEnd } from '../kit/front-end.ts';
import { KEYPAIR, OPAQUE, startGatewayTo, type TestGateway } from '../kit/gateway.ts';
import { RawClient } from '../kit/raw-client.ts';
import { startVendorUpstream, type VendorUpstream } from '../kit/vendor-upstream.ts';
import { BODY, EXCHANGES, TARGETS, unambiguousTargets } from './requests.ts';

/*
 * The contract with a Service that is not ours: what arrives is read by Node's HTTP server and judged by the vendor's own
 * client library. The protocol's rules (the body is hashed, the Content-Type signed in full) are under that vendor's
 * brand, the only one its library can write; the brand is configuration.
 */

const RULES = [
  {
    name: 'the protocol’s rules',
    contentType: 'full',
    upstream: {
      version: 'v3.20170215',
      dialect: { preset: 'service', headerPrefix: 'X-BackendAI-', scheme: 'BackendAI' },
    },
  },
  { name: 'the dialect backend.ai', contentType: 'mime', upstream: { dialect: 'backend.ai' } },
] as const;

const HANDSHAKE = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
] as const;

describe.each(RULES)('by $name', ({ contentType, upstream: settings }) => {
  let upstream: VendorUpstream;
  let gateway: TestGateway;
  let page: FrontEnd;

  async function start(clock: () => number = Date.now) {
    const started = await startVendorUpstream({ keypair: KEYPAIR, contentType, clock });
    return { upstream: started, gateway: await startGatewayTo(started.origin, { upstream: settings, clock }) };
  }

  beforeAll(async () => {
    ({ upstream, gateway } = await start());
    page = await FrontEnd.signIn(gateway.port);
  });

  afterAll(async () => {
    await gateway.close();
    await upstream.close();
  });

  beforeEach(() => {
    upstream.requests.length = 0;
  });

  const answers = (of = upstream) => Object.entries(Object.groupBy(of.requests, ({ status }) => status));
  const count = (of = upstream) => Object.fromEntries(answers(of).map(([status, list]) => [status, list?.length]));

  it.each(EXCHANGES)('not one %s with the body %j is refused, at any target', async (method, body) => {
    const client = await page.connect();
    for (const target of TARGETS) await page.fetch(method, target, { body }, client);
    client.destroy();
    expect(count()).toEqual({ 200: TARGETS.length });
    expect(upstream.requests.map((request) => request.target)).toEqual(TARGETS);
    expect(new Set(upstream.requests.map((request) => `${request.method} ${request.body}`))).toEqual(
      new Set([`${method} ${body ?? ''}`]),
    );
  });

  it('not one of any unambiguous targets is refused', async () => {
    const sent: string[] = [];
    const client = await page.connect();
    await fc.assert(
      fc.asyncProperty(unambiguousTargets, async (target) => {
        sent.push(target);
        await page.fetch('POST', target, { body: BODY }, client);
      }),
      { numRuns: 200 },
    );
    client.destroy();
    expect(count()).toEqual({ 200: sent.length });
    expect(upstream.requests.map(({ target }) => target)).toEqual(sent);
  });

  it('not one body is refused, of whatever media type, size and framing', async () => {
    const types = ['application/json', 'Application/JSON; charset=utf-8', 'application/json;charset="utf-8"', OPAQUE];
    const sizes = [2, 1023, 65_535, 65_536, 65_537, 300_000, 2_000_000];
    for (const type of types) {
      for (const size of sizes) {
        const bytes = Buffer.from(`"${'x'.repeat(size - 2)}"`);
        await page.fetch('PUT', '/v2/sized', { body: bytes, headers: [['Content-Type', type]] });
        const cut = Math.ceil(size / 3);
        const chunked = [bytes.subarray(0, cut), bytes.subarray(cut)].flatMap((chunk) => [
          Buffer.from(`${chunk.length.toString(16)}\r\n`),
          chunk,
          Buffer.from('\r\n'),
        ]);
        const headers = [
          ['Content-Type', type],
          ['Transfer-Encoding', 'chunked'],
        ] as const;
        await page.fetch('PUT', '/v2/chunked', {
          body: Buffer.concat([...chunked, Buffer.from('0\r\n\r\n')]),
          headers,
        });
      }
    }
    expect(count()).toEqual({ 200: types.length * sizes.length * 2 });
    expect(new Set(upstream.requests.map(({ body }) => body.length))).toEqual(new Set(sizes));
  });

  it('not one of a thousand is refused with two hundred in flight', async () => {
    const statuses = Array.from({ length: 200 }, async (_, i) => {
      const client = await page.connect();
      for (let round = 0; round < 5; round++) {
        const [method, body] = EXCHANGES[(i + round) % EXCHANGES.length] ?? ['GET'];
        await page.fetch(method, `/v2/${i}/${round}?`, { body }, client);
      }
      client.destroy();
    });
    await Promise.all(statuses);
    expect(count()).toEqual({ 200: 1000 });
    expect(new Set(upstream.requests.map(({ target }) => target)).size).toBe(1000);
  });

  it('not one is refused across a UTC midnight', async () => {
    let now = Date.UTC(2026, 11, 31, 24) - 150;
    // Each look at the clock is a millisecond later: some of these are stamped before midnight and verified after it.
    const night = await start(() => now++);
    const late = await FrontEnd.signIn(night.gateway.port);
    await Promise.all(
      Array.from({ length: 200 }, (_, i) => {
        const [method, body] = EXCHANGES[i % EXCHANGES.length] ?? ['GET'];
        return late.fetch(method, `/v2/${i}`, { body });
      }),
    );
    await night.gateway.close();
    await night.upstream.close();
    expect(count(night.upstream)).toEqual({ 200: 200 });
    expect(new Set(night.upstream.requests.map(({ date }) => date.slice(0, 8)))).toEqual(
      new Set(['20261231', '20270101']),
    );
  });

  it('a WebSocket handshake is not refused', async () => {
    const client = await page.connect();
    const target = '/v2/stream?x=%ed%95%9c&';
    client.send(page.bytes('GET', target, { headers: HANDSHAKE }));
    expect((await client.head())?.status).toBe(101);
    client.destroy();
    expect(upstream.requests).toMatchObject([{ target, status: 101 }]);
  });

  it('the same bytes are refused when they are altered on the way', async () => {
    upstream.received.length = 0;
    await page.fetch('POST', '/v2/x?a=1', { body: '{"a":1}' });
    const bytes = Buffer.concat(upstream.received).toString('latin1');
    const replay = async (text: string) => {
      const client = await RawClient.connect(upstream.port);
      const response = await client.send(text).response('POST');
      client.destroy();
      return response?.status;
    };
    const altered = (from: RegExp, to: string | ((found: string) => string)) => {
      const text = bytes.replace(from, to as string);
      expect(text, String(from)).not.toBe(bytes);
      return replay(text);
    };
    expect(await replay(bytes)).toBe(200);
    expect(await altered(/^POST /, 'PATCH ')).toBe(401);
    expect(await altered(/a=1 HTTP/, 'a=2 HTTP')).toBe(401);
    expect(await altered(/a=1 HTTP/, 'a=1& HTTP')).toBe(401);
    expect(await altered(/^(host: 127)\.0\.0\.1/im, '$1.0.0.2')).toBe(401);
    expect(await altered(/^date: \d{8}T\d{6}/im, (line) => line.replace(/.$/, (digit) => `${9 - Number(digit)}`))).toBe(
      401,
    );
    expect(await altered(/^(content-type: application\/json)/im, '$1l')).toBe(401);
    expect(await altered(/^(x-backendai-version: v\d\.\d{7})\d/im, '$19')).toBe(401);
    expect(await altered(/^(authorization: .*:)./im, '$1g')).toBe(401);
    expect(await altered(/credential=AKIA/, 'credential=AKIB')).toBe(401);
    expect(await altered(/^(authorization: .*)\r\n/im, '')).toBe(401);
    // Where the dialect leaves the body out, nothing vouches for it.
    expect(await altered(/\{"a":1\}$/, '{"a":2}')).toBe(contentType === 'full' ? 401 : 200);
  });
});

describe('of what a browser sends', () => {
  let upstream: VendorUpstream;
  let gateway: TestGateway;
  let page: FrontEnd;

  beforeAll(async () => {
    upstream = await startVendorUpstream({ keypair: KEYPAIR, contentType: 'full' });
    gateway = await startGatewayTo(upstream.origin, {
      upstream: { ...RULES[0].upstream, passHeaders: ['X-Extra'] },
    });
    page = await FrontEnd.signIn(gateway.port);
  });

  afterAll(async () => {
    await gateway.close();
    await upstream.close();
  });

  /** Each value has a mark that can be looked for in the bytes. */
  const HEADERS = [
    ['Authorization', 'BackendAI signMethod=HMAC-SHA256, credential=MARK:0'],
    ['authorization', 'Basic MARK'],
    ['Cookie', 'other=MARK'],
    ['Cookie2', 'MARK'],
    ['X-Service-Date', '20000101T000000MARK'],
    ['X-Service-Version', 'MARK'],
    ['X-Service-Anything', 'MARK'],
    ['X-BackendAI-Date', '20000101T000000MARK'],
    ['X-BackendAI-Version', 'MARK'],
    ['X_BackendAI_Version', 'MARK'],
    ['Date', 'MARK'],
    ['Proxy-Authorization', 'Basic MARK'],
    ['Proxy-Connection', 'MARK'],
    ['Keep-Alive', 'timeout=MARK'],
    ['TE', 'trailers, MARK'],
    ['Trailer', 'MARK'],
    ['HTTP2-Settings', 'MARK'],
    ['X-Extra', 'MARK'],
    ['If-None-Match', '"MARK"'],
  ] as const;
  const NAMED = 'X-Extra, If-None-Match, Authorization, Date, Host, X-BackendAI-Version, Content-Type';

  /** The bytes that came while something was sent. */
  async function arriving(send: () => Promise<unknown>): Promise<string> {
    upstream.received.length = 0;
    await send();
    return Buffer.concat(upstream.received).toString('latin1');
  }

  function expectClean(bytes: string): void {
    expect(bytes).toMatch(/^[A-Z]+ \/v2\/mine HTTP\/1\.1\r\n/);
    expect(bytes).not.toContain('MARK');
    expect(bytes).not.toContain(page.cookie.split('=')[1]);
    expect(bytes).not.toMatch(/^(?:cookie2?|te|trailer|transfer-encoding|keep-alive|proxy-\w+|x[-_]service[-_]\w+):/im);
    expect(bytes.match(/^(?:authorization|date|host|x-backendai-version):/gim)).toHaveLength(4);
  }

  it.each(EXCHANGES)('no credential and no hop-by-hop header arrives with %s %j', async (method, body) => {
    const headers = [...HEADERS, ['Connection', `keep-alive, ${NAMED}`]] as const;
    expectClean(await arriving(() => page.fetch(method, '/v2/mine', { headers, body })));
    expect(upstream.requests.at(-1)?.status).toBe(200);
  });

  it('nor does its framing', async () => {
    const headers = [...HEADERS, ['Connection', NAMED], ['Transfer-Encoding', 'chunked']] as const;
    expectClean(await arriving(() => page.fetch('POST', '/v2/mine', { headers, body: '2\r\n{}\r\n0\r\n\r\n' })));
    expect(upstream.requests.at(-1)).toMatchObject({ status: 200, body: Buffer.from('{}') });
  });

  it('nor with a WebSocket handshake', async () => {
    const handshake = HANDSHAKE.map(([name, value]) => [name, name === 'Connection' ? `${value}, ${NAMED}` : value]);
    const client = await page.connect();
    const bytes = await arriving(async () => {
      client.send(page.bytes('GET', '/v2/mine', { headers: [...HEADERS, ...(handshake as [string, string][])] }));
      expect((await client.head())?.status).toBe(101);
    });
    client.destroy();
    expectClean(bytes);
  });

  it('what may pass does arrive, where Connection does not name it', async () => {
    const headers = [
      ['X-Extra', 'passed'],
      ['If-None-Match', '"passed"'],
    ] as const;
    const bytes = await arriving(() => page.fetch('GET', '/v2/mine', { headers }));
    expect(bytes).toMatch(/^x-extra: passed\r\n/im);
    expect(bytes).toMatch(/^if-none-match: "passed"\r\n/im);
  });
});

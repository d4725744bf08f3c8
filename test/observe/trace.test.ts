import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FrontEnd, HOST } from '../kit/front-end.ts';
import { KEYPAIR, type StartOptions, startGateway, type TestGateway } from '../kit/gateway.ts';
import { recordSpans, type SpanRecorder } from '../kit/recorded-spans.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const TRUSTING = { listen: { trustProxies: ['127.0.0.1'] } };
const HANDSHAKE = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
] as const;

let upstream: StrictUpstream;
let gateway: TestGateway;

async function start(options: StartOptions = {}): Promise<FrontEnd> {
  ({ upstream, gateway } = await startGateway(options));
  return FrontEnd.signIn(gateway.port);
}

/** The values of a header in the `index`th request the upstream saw. */
const sent = (name: string, index = 0) =>
  upstream.requests[index]?.rawHeaders
    .filter(([field]) => field.toLowerCase() === name)
    .map(([, value]) => value.trim());

const logged = () => gateway.log.map((line) => JSON.parse(line) as Record<string, unknown>);

describe('without an SDK', () => {
  afterEach(async () => {
    await gateway.close();
    await upstream.close();
  });

  it('a request begins a trace named by its id, with a span id of its own for each', async () => {
    const page = await start();
    const responses = [await page.fetch('GET', '/v2/a'), await page.fetch('GET', '/v2/b')];
    const spans = responses.map((response, i) => {
      const [traceparent = ''] = sent('traceparent', i) ?? [];
      const [version, traceId, spanId, flags] = traceparent.split('-');
      expect([version, traceId, flags]).toEqual(['00', response.header('x-request-id'), '01']);
      expect(spanId).toMatch(/^[0-9a-f]{16}$/);
      return spanId;
    });
    expect(spans[0]).not.toBe(spans[1]);
    await expect.poll(() => logged().some(({ path }) => path === '/v2/b')).toBe(true);
    for (const line of logged()) expect(line).not.toHaveProperty('traceId');
  });

  it.each(['00', '01'])(
    'a trusted peer’s trace goes on with flags %s, under a request id of our own',
    async (flags) => {
      const page = await start(TRUSTING);
      const headers = [
        ['traceparent', `00-${TRACE}-${SPAN}-${flags}`],
        ['tracestate', 'rojo=1'],
        ['tracestate', 'congo=2'],
      ] as const;
      const response = await page.fetch('GET', '/v2/a', { headers });
      const requestId = response.header('x-request-id');
      expect(requestId).not.toBe(TRACE);
      expect(sent('x-request-id')).toEqual([requestId]);
      expect(sent('traceparent')).toEqual([expect.stringMatching(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-${flags}$`))]);
      expect(sent('traceparent')?.[0]).not.toContain(SPAN);
      expect(sent('tracestate')).toEqual(['rojo=1,congo=2']);
      await expect.poll(logged).toContainEqual(expect.objectContaining({ requestId, traceId: TRACE, path: '/v2/a' }));
    },
  );

  it('a trusted peer’s trace goes on over a WebSocket handshake', async () => {
    const page = await start({ ...TRUSTING, respond: async (_, answer) => void (await answer.webSocket()) });
    const headers = [...HANDSHAKE, ['traceparent', `00-${TRACE}-${SPAN}-01`], ['tracestate', 'rojo=1']] as const;
    const client = await page.connect();
    client.send(page.bytes('GET', '/v2/stream', { headers }));
    expect((await client.head())?.status).toBe(101);
    client.destroy();
    expect(sent('traceparent')).toEqual([expect.stringMatching(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`))]);
    expect(sent('tracestate')).toEqual(['rojo=1']);
  });

  it.each([
    { who: 'a peer that is not trusted', options: {}, traceparent: [`00-${TRACE}-${SPAN}-01`] },
    {
      who: 'a peer that sends two',
      options: TRUSTING,
      traceparent: [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01`],
    },
    { who: 'a peer that sends a malformed one', options: TRUSTING, traceparent: [`00-${TRACE}-${SPAN}`] },
  ])('the trace of $who is ignored, its tracestate with it', async ({ options, traceparent }) => {
    const page = await start(options);
    const headers = [...traceparent.map((value) => ['traceparent', value] as const), ['tracestate', 'rojo=1'] as const];
    const response = await page.fetch('GET', '/v2/a', { headers });
    expect(sent('traceparent')?.[0]).toMatch(new RegExp(`^00-${response.header('x-request-id')}-`));
    expect(sent('traceparent')).toHaveLength(1);
    expect(sent('tracestate')).toEqual([]);
  });
});

describe('with an SDK', () => {
  let recorder: SpanRecorder;
  let spans: SpanRecorder['spans'];
  beforeEach(() => {
    recorder = recordSpans();
    ({ spans } = recorder);
  });
  const begin = async (options: StartOptions = {}) => {
    const page = await start(options);
    await expect.poll(() => spans.length).toBe(1);
    spans.length = 0;
    return page;
  };
  afterEach(async () => {
    recorder.stop();
    await gateway.close();
    await upstream.close();
    expect(recorder.complaints).toEqual([]);
  });

  it('there is a server span for a request and a client span for its attempt, which is the one told upstream', async () => {
    const page = await begin(TRUSTING);
    const headers = [
      ['traceparent', `00-${TRACE}-${SPAN}-01`],
      ['tracestate', 'rojo=1'],
    ] as const;
    await page.fetch('GET', '/v2/kernel?token=secret', { headers });
    await expect.poll(() => spans.length).toBe(2);
    const [client, server] = spans;
    expect(server).toMatchObject({
      name: 'GET /v2',
      kind: 'server',
      traceId: TRACE,
      parentSpanId: SPAN,
      failed: false,
      attributes: {
        'http.request.method': 'GET',
        'http.response.status_code': 200,
        'http.route': '/v2',
        'url.path': '/v2/kernel',
        'server.address': HOST,
        'client.address': '127.0.0.1',
        'countersign.tenant': 'acme',
      },
    });
    expect(client).toMatchObject({
      name: 'GET /v2',
      kind: 'client',
      traceId: TRACE,
      parentSpanId: server?.spanId,
      failed: false,
      attributes: {
        'http.request.method': 'GET',
        'http.response.status_code': 200,
        'http.route': '/v2',
        'url.full': `${upstream.origin}/v2/kernel`,
        'server.address': '127.0.0.1',
        'server.port': upstream.port,
        'countersign.tenant': 'acme',
      },
    });
    expect(sent('traceparent')).toEqual([`00-${TRACE}-${client?.spanId}-01`]);
    expect(sent('tracestate')).toEqual(['rojo=1']);
    for (const secret of ['secret', KEYPAIR.secretKey, page.cookie.split('=')[1] ?? 'missing']) {
      expect(JSON.stringify(spans)).not.toContain(secret);
    }
  });

  it('a trace that begins here is the SDK’s, and the log knows it', async () => {
    const page = await begin();
    await page.fetch('GET', '/v2', { headers: [['traceparent', `00-${TRACE}-${SPAN}-01`]] });
    await expect.poll(() => spans.length).toBe(2);
    const server = spans[1];
    expect(server?.traceId).not.toBe(TRACE);
    expect(server?.parentSpanId).toBeUndefined();
    expect(sent('traceparent')).toEqual([`00-${server?.traceId}-${spans[0]?.spanId}-01`]);
    expect(logged().at(-1)).toMatchObject({ traceId: server?.traceId });
  });

  it('a trace that a trusted peer does not sample is not recorded, and goes on as one that is not', async () => {
    const page = await begin(TRUSTING);
    await page.fetch('GET', '/v2', { headers: [['traceparent', `00-${TRACE}-${SPAN}-00`]] });
    await expect.poll(() => logged().at(-1)).toMatchObject({ traceId: TRACE, path: '/v2' });
    expect(spans).toEqual([]);
    expect(sent('traceparent')).toEqual([
      expect.stringMatching(new RegExp(`^00-${TRACE}-(?!${SPAN})[0-9a-f]{16}-00$`)),
    ]);
  });

  it('each attempt has a span of its own', async () => {
    let broken = false;
    const page = await begin({
      respond: (request, answer) => {
        if (request.target !== '/v2/again' || broken) return answer.json(200, {});
        broken = true;
        return answer.reset();
      },
    });
    await page.fetch('GET', '/v2');
    await expect.poll(() => spans.length).toBe(2);
    spans.length = 0;
    expect((await page.fetch('GET', '/v2/again')).status).toBe(200);
    await expect.poll(() => spans.length).toBe(3);
    const [first, second, server] = spans;
    expect(first).toMatchObject({ failed: true, parentSpanId: server?.spanId });
    expect(first?.attributes['error.type']).toMatch(/^(?:ECONNRESET|UPSTREAM_CLOSED)$/);
    expect(second).toMatchObject({ failed: false, attributes: { 'http.request.resend_count': 1 } });
    expect(server).toMatchObject({ kind: 'server', failed: false });
    expect([1, 2].map((i) => sent('traceparent', i)?.[0]?.split('-')[2])).toEqual([first?.spanId, second?.spanId]);
  });

  it('a refusal is a server span without an attempt, and no failure of ours; a failure says what failed', async () => {
    const page = await begin({ upstream: { timeouts: { headers: '200ms' } }, respond: (_, answer) => answer.hang() });
    await new FrontEnd(gateway.port, '').fetch('GET', '/v2');
    await page.fetch('POST', '/v2', { body: '{}' });
    await expect.poll(() => spans.length).toBe(3);
    expect(spans).toMatchObject([
      {
        kind: 'server',
        failed: false,
        attributes: { 'http.response.status_code': 401, 'countersign.code': 'unauthorized' },
      },
      { kind: 'client', failed: true, attributes: { 'error.type': 'UPSTREAM_HEADERS_TIMEOUT' } },
      {
        kind: 'server',
        failed: true,
        attributes: { 'http.response.status_code': 504, 'error.type': 'upstream-timeout' },
      },
    ]);
    expect(spans[0]?.attributes).not.toHaveProperty('error.type');
  });

  it('a WebSocket has both spans: the attempt ends with the handshake, the request with the connection', async () => {
    const page = await begin({ respond: async (_, answer) => void (await answer.webSocket()) });
    const client = await page.connect();
    client.send(page.bytes('GET', '/v2/stream', { headers: HANDSHAKE }));
    expect((await client.head())?.status).toBe(101);
    expect(spans).toMatchObject([{ kind: 'client', attributes: { 'http.response.status_code': 101 } }]);
    client.destroy();
    await expect.poll(() => spans.length).toBe(2);
    expect(spans[1]).toMatchObject({ kind: 'server', attributes: { 'http.response.status_code': 101 } });
    expect(sent('traceparent')?.[0]?.split('-')[2]).toBe(spans[0]?.spanId);
  });

  it('what a client calls its method does not name a span', async () => {
    const page = await begin();
    await page.fetch('PROPFIND', '/v2');
    await expect.poll(() => spans.length).toBe(1);
    expect(spans[0]).toMatchObject({ name: 'HTTP', attributes: { 'http.request.method': '_OTHER' } });
  });
});

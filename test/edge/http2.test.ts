import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';
import { afterEach, describe, expect, it } from 'vitest';
import { folderOf } from '../config/fixture.ts';
import { FrontEnd, HOST } from '../kit/front-end.ts';
import { OPAQUE, type StartOptions, startGateway, type TestGateway } from '../kit/gateway.ts';
import { Http2Client } from '../kit/http2-client.ts';
import { ERROR, type Fields, FRAME, FrameClient, SETTING } from '../kit/http2-frames.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

const CA = readFileSync(new URL('../kit/tls/loopback.pem', import.meta.url));

let upstream: StrictUpstream;
let gateway: TestGateway;
let cookie: string;
let client: FrameClient;

async function start(options: StartOptions = {}, settings?: Parameters<typeof FrameClient.connect>[1]): Promise<void> {
  ({ upstream, gateway } = await startGateway(options));
  cookie = (await FrontEnd.signIn(gateway.port)).cookie;
  client = await FrameClient.connect(gateway.port, settings);
}

afterEach(async () => {
  client.destroy();
  await gateway.close();
  await upstream.close();
});

/** A sound request of a page; `changes` replace the fields of their names, or come behind. */
function fields(method = 'GET', path = '/v2/x', changes: Fields = []): Fields {
  const sound: Fields = [
    [':method', method],
    [':scheme', 'https'],
    [':authority', HOST],
    [':path', path],
    ['sec-fetch-site', 'same-origin'],
    ['cookie', cookie],
  ];
  return [...sound.filter(([name]) => !changes.some(([other]) => other === name)), ...changes].toSorted(
    ([a], [b]) => Number(b.startsWith(':')) - Number(a.startsWith(':')),
  );
}

const without = (name: string) => fields().filter(([field]) => field !== name);
const codeOf = async (stream: number) => (JSON.parse(await client.body(stream)).type as string).split('/').at(-1);
const stillServes = async () => expect((await new FrontEnd(gateway.port, cookie).fetch('GET', '/v2')).status).toBe(200);

describe('a head', () => {
  it('may name its Host twice, but not two Hosts', async () => {
    await start();
    client.headers(1, fields('GET', '/v2/x', [['host', HOST]]));
    expect(await client.body(1)).toContain('/v2/x');
    client.headers(3, fields('GET', '/v2/x', [['host', 'evil.test']]));
    expect(await codeOf(3)).toBe('malformed-request');
    client.headers(5, [...without(':authority'), ['host', HOST]]);
    expect(await client.body(5)).toContain('/v2/x');
    client.headers(7, without(':authority'));
    expect(await client.brokenWith(7)).toBe(ERROR.PROTOCOL);
    expect(upstream.heads).toHaveLength(2);
  });

  it.each<[string, string, Fields]>([
    ['a scheme that is not https', 'malformed-request', [[':scheme', 'http']]],
    ['a path with a dot segment', 'ambiguous-target', [[':path', '/v2/../admin']]],
    ['another tenant’s authority', 'unknown-tenant', [[':authority', 'other.test']]],
  ])('with %s is refused', async (_, code, changes) => {
    await start();
    client.headers(1, fields('GET', '/v2/x', changes));
    expect(await codeOf(1)).toBe(code);
    expect(upstream.heads).toEqual([]);
  });

  // RFC 9113 §8.2.2: an intermediary that passed one of these on would let a client frame the message to the upstream.
  it.each<[string, string]>([
    ['connection', 'x-forwarded-for'],
    ['keep-alive', 'timeout=5'],
    ['proxy-connection', 'keep-alive'],
    ['transfer-encoding', 'chunked'],
    ['upgrade', 'h2c'],
    ['te', 'gzip'],
    ['X-Upper-Case', '1'],
    [':protocol', 'websocket'],
    [':authority', `evil@${HOST}`],
  ])('with %s: %j is no request', async (name, value) => {
    await start();
    client.headers(1, fields('POST', '/v2/x', [[name, value]]), { endStream: false }).data(1, '{}');
    expect(await client.brokenWith(1)).toBe(ERROR.PROTOCOL);
    expect(upstream.heads).toEqual([]);
    await stillServes();
  });

  it('may say that trailers are understood, which is nobody else’s business', async () => {
    await start();
    client.headers(1, fields('GET', '/v2/x', [['te', 'trailers']]));
    await client.body(1);
    expect(upstream.requests[0]?.text).not.toMatch(/^te:/im);
  });

  // RFC 9113 §8.2.3: the pieces are one Cookie. Read one by one, a planted second session would go unnoticed.
  it('whose field has the end of a line in it brings no such field', async () => {
    await start();
    client.headers(1, fields('GET', '/v2/x', [['user-agent', 'a\r\nX-Evil: b']]));
    await client.body(1);
    expect(upstream.requests[0]?.text).not.toMatch(/evil/i);
  });

  it('may have its cookie in pieces, and still only one session', async () => {
    await start();
    const [session = '', other] = [cookie, cookie.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))];
    const pieces = (...all: string[]): Fields => [...without('cookie'), ...all.map((it) => ['cookie', it] as const)];
    client.headers(1, pieces('a=1', session, 'b=2'));
    expect(await client.body(1)).toContain('/v2/x');
    client.headers(3, pieces(session, other));
    expect(await codeOf(3)).toBe('duplicate-cookie');
    // A browser sends each of its cookies as a piece: many cookies are not many headers.
    client.headers(5, pieces(...Array.from({ length: 150 }, (_, i) => `cookie-${i}=1`), session));
    expect(await client.body(5)).toContain('/v2/x');
  });

  it('that is too large is 431, and one much too large no request', async () => {
    await start();
    const pads = (count: number): Fields => Array.from({ length: count }, (_, i) => [`x-pad-${i}`, 'x'.repeat(4000)]);
    client.headers(1, fields('GET', '/v2/x', pads(3)), { endHeaders: false }).continuation(1, pads(2), true);
    expect(await codeOf(1)).toBe('headers-too-large');
    client.headers(3, fields('GET', '/v2/x', pads(3)), { endHeaders: false });
    client.continuation(3, pads(4), false).continuation(3, pads(2), true);
    expect(await client.brokenWith(3)).toBeGreaterThan(0);
    expect(upstream.heads).toEqual([]);
    await stillServes();
  });

  it('of CONNECT opens no tunnel, not to a WebSocket either', async () => {
    await start();
    expect(await client.announced(SETTING.ENABLE_CONNECT_PROTOCOL)).toBeOneOf([undefined, 0]);
    client.headers(1, [
      [':method', 'CONNECT'],
      [':authority', HOST],
    ]);
    expect(await codeOf(1)).toBe('method-not-allowed');
  });
});

describe('a body', () => {
  const LENGTH = (length: number): Fields => [
    ['content-type', OPAQUE],
    ['content-length', String(length)],
  ];

  it('needs no length', async () => {
    await start();
    client.headers(1, fields('POST', '/v2/x', [['content-type', 'application/json']]), { endStream: false });
    client.data(1, '{"a":', false).data(1, '1}');
    expect(JSON.parse(await client.body(1))).toMatchObject({ received: 7 });
    expect(upstream.requests[0]?.verdict.why).toBe('verified');
  });

  describe.each(['service', 'backend.ai'] as const)('in the dialect %s', (dialect) => {
    it.each([
      ['longer', 3],
      ['shorter', 5],
    ])('that is %s than it says never arrives whole', async (_, length) => {
      await start({ dialect });
      client.headers(1, fields('POST', '/v2/x', LENGTH(length)), { endStream: false }).data(1, 'four');
      expect(await client.brokenWith(1)).not.toBe(ERROR.NO_ERROR);
      await stillServes();
      expect(upstream.requests.map(({ method }) => method)).toEqual(['GET']);
    });

    // Without a length the end of the stream is the end of the body: a reset must not pass for it, whatever its code.
    it.each(Object.entries({ NO_ERROR: ERROR.NO_ERROR, CANCEL: ERROR.CANCEL }))(
      'that is broken off with %s is not taken for a whole one',
      async (_, code) => {
        await start({ dialect });
        client.headers(1, fields('POST', '/v2/x', [['content-type', OPAQUE]]), { endStream: false });
        client.data(1, 'delete everything', false);
        if (dialect === 'backend.ai') await upstream.waitUntil(() => upstream.heads.length === 1);
        client.reset(1, code);
        if (dialect === 'backend.ai') await upstream.waitUntil(() => upstream.abandoned.length === 1);
        client.headers(3, fields());
        await client.body(3);
        expect(upstream.requests.map(({ method }) => method)).toEqual(['GET']);
      },
    );
  });

  it.each(Object.entries({ NO_ERROR: ERROR.NO_ERROR, CANCEL: ERROR.CANCEL }))(
    'that is broken off with %s signs nobody in',
    async (_, code) => {
      await start();
      client.headers(1, fields('POST', '/-/session', [['content-type', 'application/json']]), { endStream: false });
      client.data(1, '{"method":"visitor"}', false).reset(1, code);
      client.headers(3, fields());
      await client.body(3);
      expect(gateway.audit.filter((line) => JSON.parse(line).event === 'login')).toHaveLength(1);
    },
  );

  it('may have trailers, which are dropped', async () => {
    await start();
    client.headers(1, fields('POST', '/v2/x', [['content-type', 'application/json']]), { endStream: false });
    client.data(1, '{}', false).headers(1, [['x-trailer', 'evil']]);
    expect(JSON.parse(await client.body(1))).toMatchObject({ received: 2 });
    expect(upstream.requests[0]?.text).not.toContain('evil');
  });
});

describe('an answer', () => {
  let session: ClientHttp2Session;

  async function answerTo(path: string, method = 'GET'): Promise<IncomingHttpHeaders & { ':status'?: number }> {
    session = connect(`https://127.0.0.1:${gateway.port}`, { ca: CA });
    const head = Object.fromEntries(fields(method, path));
    const [headers] = (await once(session.request(head), 'response')) as [IncomingHttpHeaders];
    session.destroy();
    return headers;
  }

  it('has none of the fields of HTTP/1.1, be it the upstream’s, a refusal or a file', async () => {
    await start({
      tenant: { site: folderOf({ 'index.html': 'hello' }), siteHeaders: { 'Keep-Alive': 'timeout=5', Upgrade: 'h2c' } },
      respond: (_, answer) =>
        answer.json(200, {}, [
          ['Connection', 'keep-alive, X-Hop'],
          ['X-Hop', 'x'],
          ['Keep-Alive', 'timeout=9'],
          ['Upgrade', 'h2c'],
          ['Proxy-Connection', 'close'],
        ]),
    });
    const names = /^(?:connection|keep-alive|upgrade|proxy-connection|transfer-encoding|x-hop)$/;
    expect(Object.keys(await answerTo('/v2/x')).filter((name) => names.test(name))).toEqual([]);
    const refusal = await answerTo('/v2/x', 'TRACE');
    expect(refusal[':status']).toBe(405);
    expect(Object.keys(refusal).filter((name) => names.test(name))).toEqual([]);
    const file = await answerTo('/');
    expect(file[':status']).toBe(200);
    expect(Object.keys(file).filter((name) => names.test(name))).toEqual([]);
  });

  it('may repeat a field, have a status nobody knows, or a body against all rules', async () => {
    await start({
      respond: ({ target }, answer) =>
        target === '/v2/x'
          ? answer.send(200, [
              ['ETag', '"1"'],
              ['ETag', '"2"'],
              ['Age', '1'],
              ['Age', '2'],
            ])
          : answer.send(Number(target.slice(4)), [], 'a body'),
    });
    expect((await answerTo('/v2/x'))[':status']).toBe(200);
    expect((await answerTo('/v2/799'))[':status']).toBe(500);
    client.headers(1, fields('GET', '/v2/205'));
    expect(await client.body(1)).toBe('');
  });

  it('that breaks resets its stream, and no other', async () => {
    const resume = Promise.withResolvers<void>();
    await start({
      respond: async ({ target }, answer) => {
        const body = await answer.chunked();
        await body.chunk('only this');
        if (target === '/v2/breaks') return answer.reset();
        await resume.promise;
        await body.end();
      },
    });
    client.headers(1, fields('GET', '/v2/lasts')).headers(3, fields('GET', '/v2/breaks'));
    expect(await client.brokenWith(3)).toBe(ERROR.INTERNAL);
    expect(client.hasEnded(3)).toBe(false);
    await client.next(FRAME.DATA, 1);
    resume.resolve();
    expect(await client.body(1)).toBe('only this');
  });

  it('nobody wants any more is not fetched any further; others on the connection are', async () => {
    const left = Promise.withResolvers<void>();
    const resume = Promise.withResolvers<void>();
    await start({
      respond: async ({ target }, answer) => {
        const body = await answer.chunked();
        await body.chunk('first');
        if (target === '/v2/left') return answer.gone().then(left.resolve);
        await resume.promise;
        await body.end();
      },
    });
    client.headers(1, fields('GET', '/v2/left')).headers(3, fields('GET', '/v2/lasts'));
    await Promise.all([client.next(FRAME.DATA, 1), client.next(FRAME.DATA, 3)]);
    client.reset(1, ERROR.CANCEL);
    await left.promise;
    resume.resolve();
    expect(await client.body(3)).toBe('first');
  });
});

describe('a client that means harm', () => {
  // CVE-2023-44487: a stream costs its client nothing that is reset at once, and the gateway a whole request.
  it('by opening and resetting streams without end is disconnected', async () => {
    await start();
    for (let i = 0; i < 5000; i++) client.headers(2 * i + 1, fields()).reset(2 * i + 1, ERROR.CANCEL);
    await client.closed();
    expect(await client.next(FRAME.GOAWAY, 0)).toBeDefined();
    await stillServes();
  });

  // CVE-2024-27983 and its kin: a head that goes on and on is held, and decompressed, until it ends.
  it('by a head of endless CONTINUATION frames is disconnected', async () => {
    await start();
    client.headers(1, fields(), { endHeaders: false });
    for (let i = 0; i < 5000; i++) client.continuation(1, [['x-pad', 'x'.repeat(100)]], false);
    await client.closed();
    await stillServes();
  });

  it('by more streams than are allowed at a time is disconnected', async () => {
    const resume = Promise.withResolvers<void>();
    await start({ respond: (_, answer) => resume.promise.then(() => answer.json(200, {})) });
    const allowed = (await client.announced(SETTING.MAX_CONCURRENT_STREAMS)) ?? Number.POSITIVE_INFINITY;
    expect(allowed).toBe(100);
    for (let i = 0; i <= allowed; i++) client.headers(2 * i + 1, fields());
    await client.closed();
    resume.resolve();
    await stillServes();
  });

  it.each(['ping', 'settings'] as const)('by %s whose answers it does not read is disconnected', async (kind) => {
    await start();
    client.socket.pause();
    const flood = () => {
      for (let i = 0; i < 1000 && !client.socket.destroyed; i++) kind === 'ping' ? client.ping() : client.settings([]);
      if (!client.socket.destroyed) setImmediate(flood);
    };
    flood();
    await client.closed();
    await stillServes();
  });

  it('by keeping the connection busy with nothing is disconnected', async () => {
    await start({ listen: { headerTimeout: '300ms' } });
    const fidget = setInterval(() => client.ping(), 20);
    await client.closed();
    clearInterval(fidget);
    expect(client.frames.filter(({ type }) => type === FRAME.PING).length).toBeGreaterThan(3);
    expect(await client.next(FRAME.GOAWAY, 0)).toBeDefined();
  });

  it('by asking for what it never takes loses the stream, and the upstream its burden', async () => {
    const left = Promise.withResolvers<void>();
    await start(
      {
        listen: { keepAlive: '300ms' },
        respond: async (_, answer) => {
          const body = await answer.chunked();
          for (let i = 0; i < 64; i++) void body.chunk('x'.repeat(1 << 16));
          await answer.gone();
          left.resolve();
        },
      },
      [[SETTING.INITIAL_WINDOW_SIZE, 0]],
    );
    client.headers(1, fields());
    expect(await client.brokenWith(1)).toBe(ERROR.CANCEL);
    await left.promise;
  });

  it('by a body that does not come gets 408', async () => {
    await start({ listen: { headerTimeout: '300ms', requestTimeout: '300ms' } });
    client.headers(1, fields('POST', '/v2/x', [['content-type', 'application/json']]), { endStream: false });
    client.data(1, '{', false);
    expect(await codeOf(1)).toBe('request-timeout');
  });
});

it('a connection takes one request after another, and many at a time', async () => {
  await start();
  const front = await Http2Client.connect(gateway.port);
  const page = new FrontEnd(gateway.port, cookie);
  for (let i = 0; i < 20; i++) expect((await page.fetch('GET', `/v2/${i}`, {}, front)).status).toBe(200);
  front.destroy();
  for (let i = 0; i < 50; i++) client.headers(2 * i + 1, fields('GET', `/v2/${i}`));
  for (let i = 0; i < 50; i++) expect(await client.body(2 * i + 1)).toContain(`/v2/${i}"`);
});

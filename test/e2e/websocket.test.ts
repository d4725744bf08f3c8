import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { Answer } from '../kit/answer.ts';
import { FrontEnd, HOST, KIT_CA, ORIGIN, type RequestOptions, WS } from '../kit/front-end.ts';
import { type StartOptions, startGateway, type TestGateway } from '../kit/gateway.ts';
import type { RecordedRequest, StrictUpstream } from '../kit/strict-upstream.ts';

let upstream: StrictUpstream;
let gateway: TestGateway;
let page: FrontEnd;

async function start(options: StartOptions): Promise<void> {
  ({ upstream, gateway } = await startGateway(options));
  page = await FrontEnd.signIn(gateway.port);
}

afterEach(async () => {
  await gateway.close();
  await upstream.close();
});

/** Echoes every message and hands the upstream's end of the connection to the test. */
function echo(options?: Parameters<Answer['webSocket']>[0]) {
  const { promise: accepted, resolve } = Promise.withResolvers<WebSocket>();
  const respond = async (_: RecordedRequest, answer: Answer) => {
    const socket = await answer.webSocket(options);
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    resolve(socket);
  };
  return { accepted, respond };
}

function open(
  target = '/v2/stream',
  options: { headers?: Record<string, string>; protocols?: string[] } = {},
): WebSocket {
  return new WebSocket(`${WS}://127.0.0.1:${gateway.port}${target}`, options.protocols ?? [], {
    ca: KIT_CA,
    headers: { Host: HOST, Cookie: page.cookie, Origin: ORIGIN, 'Sec-Fetch-Site': 'same-origin', ...options.headers },
  });
}

async function closed(socket: WebSocket): Promise<[number, string]> {
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer];
  return [code, reason.toString()];
}

/** Breaks the connection beneath a WebSocket, and TLS if there is any, with a TCP reset. */
function reset(socket: WebSocket): void {
  const { _socket: own } = socket as unknown as { _socket: Socket & { _handle: { _parent?: TcpHandle } } };
  const tcp = own._handle._parent;
  if (tcp === undefined) own.resetAndDestroy();
  else tcp.reset(() => own.destroy());
}

interface TcpHandle {
  reset(done: () => void): number;
}

/** The answer to a handshake that is refused. */
async function refusal(socket: WebSocket) {
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString() };
}

const HANDSHAKE: RequestOptions['headers'] = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
];

/** A masked text frame (RFC 6455 §5.2) of less than 126 bytes. */
function textFrame(text: string): Buffer {
  const mask = Buffer.from([1, 2, 3, 4]);
  const payload = Buffer.from(text).map((byte, i) => byte ^ (mask[i % 4] as number));
  return Buffer.concat([Buffer.from([0x81, 0x80 | payload.length]), mask, payload]);
}

describe('a WebSocket through the gateway', () => {
  it.each(['service', 'backend.ai'] as const)(
    'is opened by a signed handshake without the cookie (%s)',
    async (dialect) => {
      const { respond } = echo();
      await start({ respond, dialect });
      const socket = open('/v2/stream?x=%2f..//&y');
      await once(socket, 'open');
      const [request] = upstream.requests;
      expect(request?.verdict.why).toBe('verified');
      expect(request?.method).toBe('GET');
      expect(request?.target).toBe('/v2/stream?x=%2f..//&y');
      const headers = new Map(request?.rawHeaders.map(([name, value]) => [name.toLowerCase(), value.trim()]));
      expect(headers.get('upgrade')?.toLowerCase()).toBe('websocket');
      expect(headers.get('connection')?.toLowerCase()).toBe('upgrade');
      expect([...headers.keys()]).not.toEqual(expect.arrayContaining(['cookie']));
      expect(request?.text).not.toContain(page.cookie.split('=')[1]);
      expect(headers.has('origin')).toBe(false);
      expect(headers.has('sec-fetch-site')).toBe(false);
      socket.terminate();
    },
  );

  it('keeps every odd target byte for byte', async () => {
    const { respond } = echo();
    await start({ respond });
    const targets = ['/v2?', '/v2/x/?a=b?c', '/v2/%41%7e', "/v2/it's;x=(y)", '/v2?q=../..//%2F', '/v2?<"|>'];
    for (const target of targets) {
      const client = await page.connect();
      client.send(page.bytes('GET', target, { headers: HANDSHAKE }));
      expect((await client.head())?.status).toBe(101);
      client.destroy();
    }
    expect(upstream.requests.map(({ target, verdict }) => [target, verdict.why])).toEqual(
      targets.map((target) => [target, 'verified']),
    );
  });

  it('carries text, bytes and large messages both ways', async () => {
    const { respond } = echo();
    await start({ respond });
    const socket = open();
    await once(socket, 'open');
    const large = Buffer.alloc(8 << 20, 'x');
    for (const message of ['hello', '한글', Buffer.from([0, 255, 1, 254]), large]) {
      socket.send(message);
      const [data, isBinary] = (await once(socket, 'message')) as [Buffer, boolean];
      expect(isBinary).toBe(typeof message !== 'string');
      expect(Buffer.compare(data, Buffer.from(message))).toBe(0);
    }
    socket.terminate();
  });

  it('keeps the close code and reason of the browser', async () => {
    const { respond, accepted } = echo();
    await start({ respond });
    const socket = open();
    await once(socket, 'open');
    const ended = closed(await accepted);
    socket.close(4001, 'that is all');
    expect(await ended).toEqual([4001, 'that is all']);
  });

  it('keeps the close code and reason of the upstream', async () => {
    const { respond, accepted } = echo();
    await start({ respond });
    const socket = open();
    await once(socket, 'open');
    const ended = closed(socket);
    (await accepted).close(1013, 'try again later');
    expect(await ended).toEqual([1013, 'try again later']);
  });

  it.each(['upstream', 'browser'] as const)('breaks the other side when the %s breaks', async (side) => {
    const { respond, accepted } = echo();
    await start({ respond });
    const socket = open();
    await once(socket, 'open');
    const far = await accepted;
    const [breaks, hears] = side === 'upstream' ? [far, socket] : [socket, far];
    const ended = closed(hears);
    breaks.terminate();
    expect((await ended)[0]).toBe(1006);
  });

  it('lets both sides negotiate the subprotocol and extensions', async () => {
    const { respond } = echo({ protocols: ['v2.kernel'] });
    await start({ respond });
    const socket = open('/v2/stream', { protocols: ['v1.kernel', 'v2.kernel'] });
    await once(socket, 'open');
    expect(socket.protocol).toBe('v2.kernel');
    expect(upstream.requests[0]?.text).toMatch(/\r\nsec-websocket-protocol: v1\.kernel,v2\.kernel\r\n/i);
    socket.terminate();
  });

  it('relays the upstream’s rate figures on the 101, and not its cookies', async () => {
    const { respond } = echo({
      headers: [
        ['X-RateLimit-Limit', '5'],
        ['X-RateLimit-Remaining', '4'],
        ['X-RateLimit-Reset', '60'],
        ['Set-Cookie', 'planted=1'],
      ],
    });
    await start({ respond });
    const socket = open();
    const [response] = (await once(socket, 'upgrade')) as [IncomingMessage];
    expect(response.headers['x-ratelimit-remaining']).toBe('4');
    expect(response.headers['set-cookie']).toBeUndefined();
    socket.terminate();
  });

  it('loses no frame that comes in one piece with the handshake', async () => {
    const { respond } = echo();
    await start({ respond });
    const client = await page.connect();
    client.send(page.bytes('GET', '/v2/stream', { headers: HANDSHAKE }), textFrame('early'));
    expect((await client.head())?.status).toBe(101);
    expect(await client.bytes()).toEqual(Buffer.from([0x81, 5, ...Buffer.from('early')]));
    client.destroy();
  });

  it('loses no frame that comes in one piece with the 101', async () => {
    await start({
      respond: async (_, answer) => {
        const accept = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=';
        await answer.raw(
          `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n\x81\x05hello`,
        );
        await answer.gone();
      },
    });
    const client = await page.connect();
    client.send(page.bytes('GET', '/v2/stream', { headers: HANDSHAKE }));
    expect((await client.head())?.status).toBe(101);
    expect(String((await client.bytes())?.subarray(2))).toBe('hello');
    client.destroy();
  });

  it('makes a fast sender wait for a slow reader', async () => {
    const { respond, accepted } = echo();
    await start({ respond });
    const socket = open();
    await once(socket, 'open');
    const far = await accepted;
    socket.pause();
    const block = Buffer.alloc(1 << 20, 'x');
    const total = 128;
    let flushed = 0;
    for (let i = 0; i < total; i++) far.send(block, () => flushed++);
    // Nothing announces that a writer has come to a halt: it has when it stays where it is.
    let before = -1;
    for (let still = 0; still < 20; still = flushed === before ? still + 1 : 0) {
      before = flushed;
      await delay(20);
    }
    expect(flushed).toBeLessThan(64);
    let received = 0;
    socket.on('message', (data: Buffer) => {
      received += data.length;
      if (received === total * block.length) socket.close(4002);
    });
    const ended = closed(socket);
    socket.resume();
    expect((await ended)[0]).toBe(4002);
  });

  it('ends when its session is ended, on both sides', async () => {
    const { respond, accepted } = echo();
    await start({ respond });
    const socket = open();
    await once(socket, 'open');
    const ended = Promise.all([closed(socket), closed(await accepted)]);
    expect((await page.fetch('DELETE', '/-/session')).status).toBe(204);
    expect((await ended).map(([code]) => code)).toEqual([1006, 1006]);
  });

  // http-proxy-3 throws an error of the browser's connection where nobody can catch it: one reset would end the gateway.
  it('that its browser resets ends alone (attack: a reset ends the process)', async () => {
    const { accepted, respond } = echo();
    await start({ respond });
    const uncaught: unknown[] = [];
    const note = (error: unknown) => uncaught.push(error);
    process.on('uncaughtExceptionMonitor', note);
    const socket = open();
    await once(socket, 'open');
    const bystander = open();
    await once(bystander, 'open');
    const upstreamEnd = await accepted;
    socket.on('error', () => undefined);
    reset(socket);
    await once(upstreamEnd, 'close');
    await expect.poll(() => gateway.log.filter((line) => line.includes('"kind":"upgrade"'))).toHaveLength(1);
    process.off('uncaughtExceptionMonitor', note);
    expect(uncaught).toEqual([]);
    bystander.send('still here');
    expect(String((await once(bystander, 'message'))[0])).toBe('still here');
    bystander.close();
    await once(bystander, 'close');
  });

  it('leaves another session’s WebSocket alone', async () => {
    const { respond } = echo();
    await start({ respond });
    const other = await FrontEnd.signIn(gateway.port);
    const socket = open();
    await once(socket, 'open');
    expect((await other.fetch('DELETE', '/-/session')).status).toBe(204);
    socket.send('still here');
    const [data] = (await once(socket, 'message')) as [Buffer];
    expect(data.toString()).toBe('still here');
    socket.terminate();
  });
});

describe('a WebSocket handshake is refused before the upstream hears of it', () => {
  // Cross-site WebSocket hijacking: a handshake is a GET with cookies that CORS does not stop.
  it.each<[string, Record<string, string>]>([
    ['from a foreign page', { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }],
    ['from a sibling subdomain', { Origin: 'http://evil.console.test', 'Sec-Fetch-Site': 'same-site' }],
    ['with a foreign Origin and a browser that lies', { Origin: 'https://evil.example' }],
    ['from a sandboxed frame', { Origin: 'null', 'Sec-Fetch-Site': 'cross-site' }],
  ])('%s', async (_, headers) => {
    await start(echo());
    const { status, body } = await refusal(open('/v2/stream', { headers }));
    expect(status).toBe(403);
    expect(JSON.parse(body)).toMatchObject({ type: expect.stringMatching(/\/csrf$/) });
    expect(upstream.heads).toEqual([]);
  });

  it.each<[string, Record<string, string>]>([
    ['without a session', { Cookie: 'other=1' }],
    ['with a session that never was', { Cookie: `session=${'A'.repeat(43)}` }],
  ])('%s', async (_, headers) => {
    await start(echo());
    const { status, headers: answered, body } = await refusal(open('/v2/stream', { headers }));
    expect(status).toBe(401);
    expect(answered['content-type']).toBe('application/problem+json');
    expect(JSON.parse(body)).toMatchObject({ type: expect.stringMatching(/\/unauthorized$/) });
    expect(upstream.heads).toEqual([]);
  });

  it.each<[string, string, string, RequestOptions, number]>([
    ['to a path without a route', 'GET', '/nowhere', {}, 404],
    ['to an ambiguous target', 'GET', '/v2/../x', {}, 400],
    ['by a POST', 'POST', '/v2/stream', {}, 400],
    ['with a body', 'GET', '/v2/stream', { body: 'hello' }, 400],
    [
      'with a chunked body',
      'GET',
      '/v2/stream',
      { body: '0\r\n\r\n', headers: [['Transfer-Encoding', 'chunked']] },
      400,
    ],
  ])('%s', async (_, method, target, options, status) => {
    await start(echo());
    const client = await page.connect();
    const headers = [...HANDSHAKE, ...(options.headers ?? [])];
    client.send(page.bytes(method, target, { ...options, headers }), page.bytes('GET', '/v2/smuggled'));
    const response = await client.response();
    expect(response?.status).toBe(status);
    expect(response?.header('connection')).toBe('close');
    expect(await client.closed()).toHaveLength(0);
    expect(upstream.heads).toEqual([]);
    client.destroy();
  });
});

describe('a WebSocket handshake the upstream does not accept', () => {
  it.each([401, 403, 429, 503])('is answered with the upstream’s own %i, figures and all', async (status) => {
    const problem = { type: 'https://x.example/some-problem', title: 'no' };
    await start({ respond: (_, answer) => answer.json(status, problem, [['Retry-After', '7']]) });
    const answered = await refusal(open());
    expect(answered.status).toBe(status);
    expect(JSON.parse(answered.body)).toEqual(problem);
    expect(answered.headers['x-ratelimit-limit']).toBe('30000');
    expect(answered.headers['retry-after']).toBe('7');
  });

  it('is answered with a chunked body of the upstream, whole', async () => {
    await start({
      respond: async (_, answer) => {
        const body = await answer.chunked(403, [['Content-Type', 'text/plain']]);
        await body.chunk('not ');
        await body.chunk('today');
        await body.end();
      },
    });
    const answered = await refusal(open());
    expect(answered.status).toBe(403);
    expect(answered.body).toBe('not today');
  });

  /*
   * WebSocket smuggling: a proxy that opens the tunnel without waiting for 101 passes what follows to an upstream that is
   * still speaking HTTP: requests nobody judged, on a connection it trusts.
   */
  it.each([200, 400, 426])('opens no tunnel after %i: what follows never reaches the upstream', async (status) => {
    await start({ respond: (_, answer) => answer.json(status, {}) });
    const client = await page.connect();
    const headers = HANDSHAKE.map(([name, value]) => [name, name === 'Sec-WebSocket-Version' ? '777' : value] as const);
    client.send(page.bytes('GET', '/v2/stream', { headers }), page.bytes('GET', '/v2/smuggled'));
    expect((await client.response())?.status).toBe(status);
    await client.closed();
    expect(upstream.heads.map(({ target }) => target)).toEqual(['/v2/stream']);
    expect(upstream.violations).toEqual([]);
  });

  it('is refused with 502 when the upstream cannot be reached', async () => {
    await start({ upstream: { endpoints: ['http://127.0.0.1:1'] } });
    const { status, headers, body } = await refusal(open());
    expect(status).toBe(502);
    expect(headers['content-type']).toBe('application/problem+json');
    expect(JSON.parse(body)).toMatchObject({ type: expect.stringMatching(/\/upstream-unreachable$/) });
  });

  it('is refused with 502 when the upstream closes without an answer', async () => {
    await start({ respond: (_, answer) => answer.reset() });
    const { status, body } = await refusal(open());
    expect(status).toBe(502);
    expect(JSON.parse(body)).toMatchObject({ type: expect.stringMatching(/\/upstream-failed$/) });
  });

  it('is refused with 502 when the upstream talks nonsense', async () => {
    await start({ respond: (_, answer) => answer.raw('nonsense\r\n\r\n').then(() => answer.finish()) });
    expect((await refusal(open())).status).toBe(502);
  });

  it('is refused with 504 when the upstream does not answer', async () => {
    await start({ respond: (_, answer) => answer.hang(), upstream: { timeouts: { headers: '200ms' } } });
    const { status, body } = await refusal(open());
    expect(status).toBe(504);
    expect(JSON.parse(body)).toMatchObject({ type: expect.stringMatching(/\/upstream-timeout$/) });
  });

  it('lets go of the upstream when the browser leaves during the handshake', async () => {
    const left = Promise.withResolvers<void>();
    await start({ respond: (_, answer) => answer.hang().then(left.resolve) });
    const client = await page.connect();
    client.send(page.bytes('GET', '/v2/stream', { headers: HANDSHAKE }));
    await upstream.waitForRequest();
    client.destroy();
    await left.promise;
    expect(upstream.requests).toHaveLength(1);
  });
});

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { FrontEnd, HTTP } from '../kit/front-end.ts';
import { DOORS, OPAQUE, type StartOptions, startGateway, type TestGateway } from '../kit/gateway.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

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

const problem = (code: string) => ({ type: expect.stringMatching(new RegExp(`/${code}$`)) });
const PLAIN = ['Content-Type', 'text/plain'] as const;
/** In the dialect that hashes no body, one of this type is streamed straight through. */
const STREAMED = ['Content-Type', OPAQUE] as const;

describe('an answer that breaks on its way', () => {
  // A truncated answer that ends cleanly is taken for a whole one: half a list, half a file, half a permission table.
  it.each<[string, StartOptions['respond']]>([
    [
      'fewer bytes than its length',
      async (_, answer) => {
        await answer.start(200, [['Content-Length', '100'], PLAIN]);
        await answer.raw('only this');
        answer.finish();
      },
    ],
    [
      'fewer bytes than its length, then a reset',
      async (_, answer) => {
        await answer.start(200, [['Content-Length', '100'], PLAIN]);
        await answer.raw('only this');
        answer.reset();
      },
    ],
    [
      'no bytes at all after a head with a length',
      async (_, answer) => {
        await answer.start(200, [['Content-Length', '100'], PLAIN]);
        answer.finish();
      },
    ],
    [
      'chunks without a last one',
      async (_, answer) => {
        await (await answer.chunked()).chunk('only this');
        answer.finish();
      },
    ],
    [
      'chunks, then a reset',
      async (_, answer) => {
        await (await answer.chunked()).chunk('only this');
        answer.reset();
      },
    ],
    [
      'a chunk that is no chunk',
      async (_, answer) => {
        await (await answer.chunked()).chunk('only this');
        await answer.raw('nonsense\r\n');
        await answer.gone();
      },
    ],
  ])('never looks whole to the browser: %s', async (_, respond) => {
    await start(respond === undefined ? {} : { respond });
    const client = await page.connect();
    const response = await client.send(page.bytes('GET', '/v2/x')).response();
    // Either the browser never saw a head and got a refusal, or its response broke.
    if (response?.status === 200) expect(response.complete).toBe(false);
    else expect(response === undefined || response.status === 502).toBe(true);
    await client.closed();
    client.destroy();
  });

  it('is asked for once more when nothing of a GET’s answer had come, with a signature of its own', async () => {
    let calls = 0;
    await start({ respond: (_, answer) => (calls++ === 0 ? answer.reset() : undefined) });
    expect((await page.fetch('GET', '/v2/x')).status).toBe(200);
    expect(upstream.requests.map(({ verdict }) => verdict.why)).toEqual(['verified', 'verified']);
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'REPORT'])('is never asked for twice by %s', async (method) => {
    await start({ respond: (_, answer) => answer.reset() });
    const response = await page.fetch(method, '/v2/x', { body: '{}' });
    expect(response.status).toBe(502);
    expect(response.json()).toMatchObject(problem('upstream-failed'));
    expect(upstream.requests).toHaveLength(1);
  });

  it('is 502 when GET breaks again and again', async () => {
    await start({ respond: (_, answer) => answer.reset() });
    expect((await page.fetch('GET', '/v2/x')).status).toBe(502);
    expect(upstream.requests).toHaveLength(2);
  });
});

describe('an upstream that cannot or does not answer', () => {
  it('is 502 when the connection is refused', async () => {
    await start({ upstream: { endpoints: ['http://127.0.0.1:1'] } });
    const response = await page.fetch('GET', '/v2/x');
    expect(response.status).toBe(502);
    expect(response.header('content-type')).toBe('application/problem+json');
    expect(response.json()).toMatchObject(problem('upstream-unreachable'));
    // Where the upstream is and why it failed is the operator's business.
    expect(response.body.toString()).not.toContain('127.0.0.1');
  });

  it.each(['GET', 'POST', 'DELETE'])(
    'is passed over for another endpoint, which gets a fresh signature: %s',
    async (method) => {
      const dead = createServer();
      dead.listen(0, '127.0.0.1');
      await once(dead, 'listening');
      const address = dead.address();
      const port = typeof address === 'object' ? address?.port : undefined;
      dead.close();
      await once(dead, 'close');
      const started = await startGateway();
      await started.gateway.close();
      const alive = started.upstream;
      await start({ upstream: { endpoints: [`http://127.0.0.1:${port}`, alive.origin] } });
      for (let i = 0; i < 4; i++) expect((await page.fetch(method, `/v2/${i}`, { body: '{}' })).status).toBe(200);
      expect(alive.requests.map(({ verdict }) => verdict.why)).toEqual(Array(4).fill('verified'));
      await alive.close();
    },
  );

  it('is 504 when it accepts the request and says nothing', async () => {
    const left = Promise.withResolvers<void>();
    await start({
      respond: (_, answer) => answer.hang().then(left.resolve),
      upstream: { timeouts: { headers: '200ms' } },
    });
    const response = await page.fetch('POST', '/v2/x', { body: '{}' });
    expect(response.status).toBe(504);
    expect(response.json()).toMatchObject(problem('upstream-timeout'));
    await left.promise;
  });

  it('is broken off when it stops in the middle of its answer', async () => {
    const left = Promise.withResolvers<void>();
    await start({
      respond: async (_, answer) => {
        await (await answer.chunked()).chunk('first');
        await answer.gone();
        left.resolve();
      },
      upstream: { timeouts: { idle: '200ms' } },
    });
    const response = await page.fetch('GET', '/v2/x');
    expect(response).toMatchObject({ status: 200, complete: false });
    expect(response.body.toString()).toBe('first');
    await left.promise;
  });

  it.each([
    ['nonsense', 'nonsense\r\n\r\n'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['a status that is none', 'HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n'],
    [
      'a switch of protocols nobody asked for',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    ],
    ['a length that is none', 'HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!'],
    ['a head that never ends', `HTTP/1.1 200 OK\r\n${'X-Pad: 0123456789\r\n'.repeat(10_000)}\r\n`],
  ])('is 502 when it answers with %s', async (_, bytes) => {
    await start({ respond: (_request, answer) => answer.raw(bytes).then(() => answer.gone()) });
    const response = await page.fetch('POST', '/v2/x', { body: '{}' });
    expect(response.status).toBe(502);
    expect(response.json()).toMatchObject(problem('upstream-failed'));
  });
});

describe('a browser that leaves', () => {
  it.each(['GET', 'POST'])('takes its %s with it while the upstream is thinking', async (method) => {
    const left = Promise.withResolvers<void>();
    await start({ respond: (_, answer) => answer.hang().then(left.resolve) });
    const client = await page.connect();
    client.send(page.bytes(method, '/v2/x', method === 'POST' ? { body: '{}' } : {}));
    await upstream.waitForRequest();
    client.destroy();
    await left.promise;
    expect(upstream.requests).toHaveLength(1);
  });

  it('takes its request with it in the middle of the answer', async () => {
    const left = Promise.withResolvers<void>();
    await start({
      respond: async (_, answer) => {
        await (await answer.chunked()).chunk('first');
        await answer.gone();
        left.resolve();
      },
    });
    const client = await page.connect();
    client.send(page.bytes('GET', '/v2/x'));
    expect((await client.head())?.status).toBe(200);
    client.destroy();
    await left.promise;
  });

  it.each(['service', 'backend.ai'] as const)(
    'in the middle of its own body sends the upstream no half request (%s)',
    async (dialect) => {
      await start({ dialect });
      const client = await page.connect();
      client.send(page.bytes('POST', '/v2/half', { headers: [['Content-Length', '1000'], STREAMED], body: 'half' }));
      if (dialect === 'backend.ai') await upstream.waitUntil(() => upstream.heads.length === 1);
      client.destroy();
      // A streamed body was under way already: there the upstream sees the connection break.
      if (dialect === 'backend.ai') await upstream.waitUntil(() => upstream.abandoned.length === 1);
      expect((await page.fetch('GET', '/v2/next')).status).toBe(200);
      expect(upstream.requests.map(({ target }) => target)).toEqual(['/v2/next']);
    },
  );
});

describe('an answer that streams', () => {
  it('arrives chunk by chunk, each before the next is written', async () => {
    const turns = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
    await start({
      respond: async (_, answer) => {
        const body = await answer.chunked(200, [['Content-Type', 'text/event-stream']]);
        for (const [i, turn] of turns.entries()) {
          await turn.promise;
          await body.chunk(`data: ${i}\n\n`);
        }
        await body.end();
      },
    });
    const client = await page.connect();
    client.send(page.bytes('GET', '/v2/events', { headers: [['Accept', 'text/event-stream']] }));
    // The head comes before any chunk: a page's EventSource is open although nothing has happened yet.
    const head = await client.head();
    expect(head?.rawHeaders.map(([name, value]) => `${name.toLowerCase()}: ${value}`)).toContain(
      'content-type: text/event-stream',
    );
    for (const [i, turn] of turns.entries()) {
      turn.resolve();
      expect(String(await client.chunk())).toBe(`data: ${i}\n\n`);
    }
    expect(await client.chunk()).toHaveLength(0);
    client.destroy();
  });

  it('as an event stream outlasts the idle timeout that ends another answer', async () => {
    const resume = Promise.withResolvers<void>();
    await start({
      upstream: { timeouts: { idle: '200ms' } },
      respond: async ({ target }, answer) => {
        const body = await answer.chunked(200, [
          ['Content-Type', target === '/v2/events' ? 'text/event-stream' : 'text/plain'],
        ]);
        await body.chunk('first');
        if (target !== '/v2/events') return answer.gone();
        await resume.promise;
        await body.chunk('second');
        await body.end();
      },
    });
    const client = await page.connect();
    client.send(page.bytes('GET', '/v2/events', { headers: [['Accept', 'text/event-stream']] }));
    expect((await client.head())?.status).toBe(200);
    expect(String(await client.chunk())).toBe('first');
    // Both wait; when the ordinary one has been given up on, the event stream has waited at least as long.
    expect((await page.fetch('GET', '/v2/stalls')).complete).toBe(false);
    resume.resolve();
    expect(String(await client.chunk())).toBe('second');
    client.destroy();
  });

  it('as an event stream ends when its session is ended', async () => {
    const left = Promise.withResolvers<void>();
    await start({
      respond: async (_, answer) => {
        const body = await answer.chunked(200, [['Content-Type', 'text/event-stream']]);
        await body.chunk('data: hello\n\n');
        await answer.gone();
        left.resolve();
      },
    });
    const client = await page.connect();
    client.send(page.bytes('GET', '/v2/events', { headers: [['Accept', 'text/event-stream']] }));
    expect((await client.head())?.status).toBe(200);
    expect(String(await client.chunk())).toBe('data: hello\n\n');
    expect((await page.fetch('DELETE', '/-/session')).status).toBe(204);
    expect(await client.chunk()).toBeUndefined();
    await left.promise;
    expect((await page.fetch('GET', '/v2/x')).status).toBe(401);
  });

  it('waits for a slow reader instead of piling up in the gateway', async () => {
    const block = Buffer.alloc(1 << 20, 'x');
    const total = 192;
    let written = 0;
    await start({
      respond: async (_, answer) => {
        await answer.start(200, [['Content-Length', String(total * block.length)], PLAIN]);
        for (; written < total; written++) await answer.raw(block);
      },
    });
    const client = await page.connect();
    client.send(page.bytes('GET', '/v2/large'));
    expect((await client.head())?.status).toBe(200);
    client.socket.pause();
    // Nothing announces that a writer has come to a halt: it has when it stays where it is.
    let before = -1;
    for (let still = 0; still < 20; still = written === before ? still + 1 : 0) {
      before = written;
      await delay(20);
    }
    expect(written).toBeLessThan(64);
    client.socket.resume();
    let received = 0;
    while (received < total * block.length) received += (await client.bytes())?.length ?? Number.POSITIVE_INFINITY;
    expect(received).toBe(total * block.length);
    client.destroy();
  });

  it('lets go of the upstream when its slow reader leaves', async () => {
    await start({
      upstream: { connections: 1 },
      respond: async ({ target }, answer) => {
        if (target !== '/v2/large') return;
        await answer.start(200, [['Content-Length', String(1 << 30)], PLAIN]);
        const block = Buffer.alloc(1 << 20, 'x');
        for (let i = 0; i < 64; i++) await answer.raw(block);
        await answer.gone();
      },
    });
    const client = await page.connect();
    client.send(page.bytes('GET', '/v2/large'));
    expect((await client.head())?.status).toBe(200);
    client.socket.pause();
    await upstream.waitForRequest();
    client.destroy();
    // There is one connection to the upstream: a reader that is waited for after it left would block everybody.
    expect((await page.fetch('GET', '/v2/next')).status).toBe(200);
  });

  it('arrives whole when it is large', async () => {
    const body = Buffer.alloc(48 << 20);
    for (let i = 0; i < body.length; i += 4096) body.writeUInt32LE(i, i);
    await start({ respond: (_, answer) => answer.send(200, [PLAIN], body) });
    const response = await page.fetch('GET', '/v2/large');
    expect(response.complete).toBe(true);
    const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
    expect(digest(response.body)).toBe(digest(body));
  });
});

describe('answers of every form', () => {
  it.each([
    ['204', 'GET', 204],
    ['304', 'GET', 304],
    ['HEAD', 'HEAD', 200],
    ['HEAD of a missing one', 'HEAD', 404],
  ] as const)('%s has no body and leaves the connection usable', async (_, method, status) => {
    await start({
      respond: ({ target }, answer) =>
        target === '/v2/x' ? answer.send(status, [['ETag', '"1"'], PLAIN], 'eleven bytes'.slice(1)) : undefined,
    });
    const client = await page.connect();
    const response = await page.fetch(method, '/v2/x', {}, client);
    expect(response).toMatchObject({ status, complete: true });
    expect(response.header('etag')).toBe('"1"');
    if (method === 'HEAD') expect(response.header('content-length')).toBe('11');
    expect((await page.fetch('GET', '/v2/next', {}, client)).json()).toMatchObject({ target: '/v2/next' });
    client.destroy();
    expect(new Set(upstream.requests.map(({ connection }) => connection)).size).toBe(1);
  });

  it('of zero bytes, by length or by chunks', async () => {
    await start({
      respond: async ({ target }, answer) => {
        if (target === '/v2/length') await answer.send(200, [PLAIN], '');
        else await (await answer.chunked(200, [PLAIN])).end();
      },
    });
    const client = await page.connect();
    for (const target of ['/v2/length', '/v2/chunks', '/v2/length']) {
      const response = await page.fetch('GET', target, {}, client);
      expect(response).toMatchObject({ status: 200, complete: true });
      expect(response.body).toHaveLength(0);
    }
    client.destroy();
  });

  it('that end with the connection arrive whole', async () => {
    await start({
      respond: async (_, answer) => {
        await answer.start(200, [['Connection', 'close'], PLAIN]);
        await answer.raw('until the end');
        answer.finish();
      },
    });
    const client = await page.connect();
    const response = await page.fetch('GET', '/v2/x', {}, client);
    expect(response).toMatchObject({ status: 200, complete: true });
    expect(response.body.toString()).toBe('until the end');
    client.destroy();
  });

  it.each([
    ['103 Early Hints', 'HTTP/1.1 103 Early Hints\r\nLink: </x.css>; rel=preload\r\n\r\n'],
    ['102 Processing, twice', 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n'],
  ])('that %s came before', async (_, interim) => {
    await start({
      respond: async (request, answer) => {
        await answer.raw(interim);
        await answer.json(200, { target: request.target });
      },
    });
    const client = await page.connect();
    for (const target of ['/v2/a', '/v2/b']) {
      const response = await page.fetch('POST', target, { body: '{}' }, client);
      expect(response.status).toBe(200);
      expect(response.json()).toEqual({ target });
    }
    client.destroy();
  });

  it('that are compressed stay as they are', async () => {
    const body = gzipSync('{"compressed":true}');
    await start({
      respond: (_, answer) =>
        answer.send(
          200,
          [
            ['Content-Encoding', 'gzip'],
            ['Content-Type', 'application/json'],
          ],
          body,
        ),
    });
    const response = await page.fetch('GET', '/v2/x', { headers: [['Accept-Encoding', 'gzip']] });
    expect(response.header('content-encoding')).toBe('gzip');
    expect(response.body.equals(body)).toBe(true);
  });

  it('that come before the request was read reach the browser', async () => {
    await start({
      dialect: 'backend.ai',
      respondEarly: async (_, answer) =>
        answer.json(413, { type: 'https://x.example/too-large' }, [['Connection', 'close']]),
    });
    const client = await page.connect();
    client.send(page.bytes('POST', '/v2/x', { headers: [['Content-Length', '100000'], STREAMED], body: 'first' }));
    const response = await client.response('POST');
    expect(response?.status).toBe(413);
    expect(response?.json()).toEqual({ type: 'https://x.example/too-large' });
    client.destroy();
  });
});

describe('a request that is too large', () => {
  describe.each(['service', 'backend.ai'] as const)('in the dialect %s', (dialect) => {
    it('by its length is 413 at once, and the upstream hears nothing', async () => {
      await start({ dialect, route: { maxBody: '1KiB' } });
      const client = await page.connect();
      client.send(page.bytes('POST', '/v2/x', { headers: [['Content-Length', '1025'], STREAMED], body: '' }));
      const response = await client.response('POST');
      expect(response?.status).toBe(413);
      expect(response?.json()).toMatchObject(problem('body-too-large'));
      expect(response?.header('connection')).toBe(HTTP === 'HTTP/2' ? undefined : 'close');
      await client.closed();
      expect(upstream.heads).toEqual([]);
    });

    it('by its chunks is 413 as soon as it is, and the upstream gets no whole request', async () => {
      await start({ dialect, route: { maxBody: '1KiB' } });
      const client = await page.connect();
      const chunk = `400\r\n${'x'.repeat(1024)}\r\n`;
      client.send(
        page.bytes('POST', '/v2/x', { headers: [['Transfer-Encoding', 'chunked'], STREAMED], body: chunk + chunk }),
      );
      const response = await client.response('POST');
      expect(response?.status).toBe(413);
      expect(response?.json()).toMatchObject(problem('body-too-large'));
      await client.closed();
      expect(upstream.requests).toEqual([]);
    });

    it('by not a single byte is not', async () => {
      await start({ dialect, route: { maxBody: '1KiB' } });
      const body = 'x'.repeat(1024);
      const chunked = {
        headers: [['Transfer-Encoding', 'chunked'], STREAMED] as const,
        body: `400\r\n${body}\r\n0\r\n\r\n`,
      };
      expect((await page.fetch('POST', '/v2/x', { headers: [STREAMED], body })).status).toBe(200);
      expect((await page.fetch('POST', '/v2/x', chunked)).status).toBe(200);
    });
  });

  it('by its head is 431', async () => {
    await start({ listen: { maxHeaderSize: '8KiB' } });
    const client = await page.connect();
    client.send(page.bytes('GET', '/v2/x', { headers: [['X-Pad', 'x'.repeat(9000)]] }));
    const response = await client.response();
    expect(response?.status).toBe(431);
    expect(response?.json()).toMatchObject(problem('headers-too-large'));
    await client.closed();
    expect(upstream.heads).toEqual([]);
  });

  it('by the number of its headers is 431, none of them dropped unseen', async () => {
    await start({ listen: { maxHeaders: 20 } });
    const headers = Array.from({ length: 30 }, (_, i) => [`X-${i}`, 'y'] as const);
    expect((await page.fetch('GET', '/v2/x', { headers })).status).toBe(431);
    expect(upstream.heads).toEqual([]);
  });
});

describe('a client that waits to be asked for its body', () => {
  it.each(DOORS)('is asked once, through the door %s', async (door) => {
    await start({ door });
    const client = await page.connect();
    client.send(
      page.bytes('POST', '/v2/x', {
        headers: [
          ['Content-Length', '2'],
          ['Expect', '100-continue'],
        ],
        body: '',
      }),
    );
    expect((await client.head())?.status).toBe(100);
    client.send('{}');
    const response = await client.response('POST');
    expect(response).toMatchObject({ status: 200, interim: [] });
    client.destroy();
  });
});

describe('a client that is too slow', () => {
  it.each(['service', 'backend.ai'] as const)(
    'with a body that does not come is cut off with 408 (%s)',
    async (dialect) => {
      await start({ dialect, listen: { headerTimeout: '300ms', requestTimeout: '600ms' } });
      const client = await page.connect();
      client.send(page.bytes('POST', '/v2/x', { headers: [['Content-Length', '100'], STREAMED], body: '{' }));
      const response = await client.response('POST');
      expect(response?.status).toBe(408);
      expect(response?.json()).toMatchObject(problem('request-timeout'));
      await client.closed();
      expect(upstream.requests).toEqual([]);
    },
  );

  it('that is only waiting for its answer is not', async () => {
    const answered = Promise.withResolvers<void>();
    await start({
      listen: { headerTimeout: '300ms', requestTimeout: '600ms' },
      respond: ({ target }, answer) =>
        target === '/v2/slow' ? answered.promise.then(() => answer.json(200, {})) : undefined,
    });
    const waiting = page.fetch('GET', '/v2/slow');
    await upstream.waitForRequest();
    const late = await page.connect();
    late.send(page.bytes('POST', '/v2/late', { headers: [['Content-Length', '100']], body: '{' }));
    expect((await late.response('POST'))?.status).toBe(408);
    answered.resolve();
    expect((await waiting).status).toBe(200);
  });
});

describe('clients that leave at any moment', () => {
  it('wedge nothing and leave no half request behind', async () => {
    await start({
      dialect: 'backend.ai',
      upstream: { connections: 4 },
      respond: async ({ target }, answer) => {
        if (!target.endsWith('/chunks')) return;
        const body = await answer.chunked();
        for (let i = 0; i < 20; i++) await body.chunk(Buffer.alloc(20_000, 'x'));
        await body.end();
      },
    });
    const leave = async (i: number) => {
      const client = await page.connect();
      const streamed = { headers: [['Content-Length', '50000'], STREAMED], body: Buffer.alloc(50_000, 'y') } as const;
      const bytes =
        i % 2 === 0 ? page.bytes('GET', `/v2/${i}/chunks`) : page.bytes('POST', `/v2/${i}/chunks`, streamed);
      client.send(bytes.subarray(0, Math.ceil((bytes.length * ((i % 7) + 1)) / 7)));
      if (i % 3 === 0) await client.head();
      if (i % 6 === 0) await client.bytes();
      client.destroy();
    };
    // A head is awaited only of requests that are sent whole.
    const moments = Array.from({ length: 300 }, (_, i) => i).filter((i) => i % 3 !== 0 || i % 7 === 6);
    for (let from = 0; from < moments.length; from += 30) await Promise.all(moments.slice(from, from + 30).map(leave));
    const answers = await Promise.all(Array.from({ length: 20 }, () => page.fetch('GET', '/v2/after/chunks')));
    expect(answers.map(({ status, complete, body }) => [status, complete, body.length])).toEqual(
      Array(20).fill([200, true, 400_000]),
    );
    expect(upstream.violations).toEqual([]);
    expect(upstream.requests.every(({ verdict }) => verdict.ok)).toBe(true);
  });
});

describe('connections to the upstream', () => {
  it('are shared by one request after another, bodies or none', async () => {
    await start({});
    const client = await page.connect();
    for (const [method, body] of [
      ['REPORT', '{}'],
      ['REPORT', undefined],
      ['GET', '{}'],
      ['DELETE', '{}'],
      ['HEAD', undefined],
      ['POST', '{}'],
    ] as const) {
      expect((await page.fetch(method, '/v2/x', { body }, client)).status).toBe(200);
    }
    client.destroy();
    expect(upstream.connections).toBe(1);
  });

  it('are not more than configured, however many ask at once', async () => {
    await start({ upstream: { connections: 3 } });
    const responses = await Promise.all(
      Array.from({ length: 30 }, (_, i) => page.fetch('POST', `/v2/${i}`, { body: '{}' })),
    );
    expect(responses.map(({ status }) => status)).toEqual(Array(30).fill(200));
    expect(upstream.connections).toBeLessThanOrEqual(3);
  });
});

import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { FrontEnd } from '../kit/front-end.ts';
import { OPAQUE, type StartOptions, startGateway, type TestGateway } from '../kit/gateway.ts';
import {
  answerOf,
  type Behaviour,
  type MisbehavingUpstream,
  startMisbehavingUpstream,
  targetOf,
} from '../kit/misbehaving-upstream.ts';
import type { Client, RawClient } from '../kit/raw-client.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

/* Answers as they come from real servers, byte by byte under the test's control. */

let upstream: MisbehavingUpstream;
let unused: StrictUpstream;
let gateway: TestGateway;
let page: FrontEnd;

async function start(
  behaviour: Behaviour,
  options: Pick<StartOptions, 'upstream' | 'dialect' | 'route'> = {},
): Promise<void> {
  upstream = await startMisbehavingUpstream(behaviour);
  ({ gateway, upstream: unused } = await startGateway({
    ...options,
    upstream: { endpoints: [upstream.origin], connections: 1, ...options.upstream },
  }));
  page = await FrontEnd.signIn(gateway.port);
}

afterEach(async () => {
  await gateway.close();
  await Promise.all([upstream.close(), unused.close()]);
});

const says = (bytes: string | Buffer): Behaviour => ({
  onRequest: (socket, head) => {
    if (targetOf(head) === '/v2/next') socket.write(answerOf('next'));
    else socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  },
});

/** The connections on both sides are fit for another request, and the same ones. */
async function expectNext(client: Client): Promise<void> {
  expect(String((await page.fetch('GET', '/v2/next', {}, client)).body)).toBe('next');
  expect(upstream.connections).toBe(1);
}

describe('an answer', () => {
  it('that is a part comes as one: 206, its range, its bytes', async () => {
    await start(says('HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 2-5/10\r\nContent-Length: 4\r\n\r\ncdef'));
    const client = await page.connect();
    const headers = [
      ['Range', 'bytes=2-5'],
      ['If-Range', '"1"'],
    ] as const;
    const response = await page.fetch('GET', '/v2/x', { headers }, client);
    expect([response.status, String(response.body)]).toEqual([206, 'cdef']);
    expect(response.header('content-range')).toBe('bytes 2-5/10');
    expect(upstream.heads[0]).toContain('\r\nRange: bytes=2-5\r\nIf-Range: "1"\r\n');
    await expectNext(client);
    client.destroy();
  });

  it.each([
    ['100 Continue that nobody asked for', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['102 Processing', 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n'],
    ['103 Early Hints', 'HTTP/1.1 103 Early Hints\r\nLink: </x.css>; rel=preload\r\nSet-Cookie: a=b\r\n\r\n'],
  ])('with a %s before it comes without', async (_, interim) => {
    await start(says(interim + answerOf('final')));
    const client = await page.connect();
    const response = await page.fetch('GET', '/v2/x', {}, client);
    expect(response).toMatchObject({ status: 200, interim: [] });
    expect(String(response.body)).toBe('final');
    expect(response.header('link')).toBeUndefined();
    await expectNext(client);
    client.destroy();
  });

  it('with trailers comes without them, and without the promise of any', async () => {
    await start(
      says(
        'HTTP/1.1 200 OK\r\nTrailer: Digest\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nDigest: abc\r\n\r\n',
      ),
    );
    const client = await page.connect();
    const response = await page.fetch('GET', '/v2/x', {}, client);
    expect(response).toMatchObject({ status: 200, complete: true });
    expect(String(response.body)).toBe('hello');
    expect(response.header('trailer')).toBeUndefined();
    expect(response.header('digest')).toBeUndefined();
    await expectNext(client);
    client.destroy();
  });

  it('that is compressed and chunked arrives as the same bytes', async () => {
    const body = gzipSync(Buffer.alloc(100_000, 'compress me'));
    const half = body.length >> 1;
    const chunk = (bytes: Buffer) => [Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')];
    const head = 'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n';
    const parts = [...chunk(body.subarray(0, half)), ...chunk(body.subarray(half)), Buffer.from('0\r\n\r\n')];
    await start(says(Buffer.concat([Buffer.from(head), ...parts])));
    const client = await page.connect();
    const response = await page.fetch('GET', '/v2/x', { headers: [['Accept-Encoding', 'gzip']] }, client);
    expect(response.header('content-encoding')).toBe('gzip');
    expect(response.body.equals(body)).toBe(true);
    await expectNext(client);
    client.destroy();
  });

  // The browser is to see no framing that its own connection does not have.
  it.each([
    ['204 with a length', 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n', 'GET', 204, undefined],
    ['204 with chunks', 'HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n', 'GET', 204, undefined],
    ['304 with a length', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', 'GET', 304, '5'],
    ['HEAD with a length', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', 'HEAD', 200, '5'],
    ['HEAD with chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', 'HEAD', 200, undefined],
  ])('without a body has none, whatever its head says: %s', async (_, bytes, method, status, length) => {
    await start(says(bytes));
    const client = await page.connect();
    const response = await page.fetch(method, '/v2/x', {}, client);
    expect(response.status).toBe(status);
    expect(response.header('content-length')).toBe(length);
    expect(response.header('transfer-encoding')).toBeUndefined();
    expect(String((await page.fetch('GET', '/v2/next', {}, client)).body)).toBe('next');
    client.destroy();
  });

  it('byte by byte is the same answer', async () => {
    const bytes =
      'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n';
    await start({
      onRequest: async (socket) => {
        for (const byte of bytes) await new Promise<void>((resolve) => socket.write(byte, () => resolve()));
      },
    });
    const response = await page.fetch('GET', '/v2/x');
    expect([response.status, response.complete, String(response.body)]).toEqual([200, true, 'hello']);
  });
});

describe('an upload that is answered before it is whole', () => {
  // A client that sends it all before it reads must be rid of it all, although nobody upstream wants it.
  it('is taken from the client to its end, and the answer waits for it there', async () => {
    await start(
      {
        onHead: (socket, head) => {
          if (targetOf(head) === '/v2/next') return;
          socket.pause();
          socket.write(answerOf('too large').replace('200 OK', '413 Content Too Large'));
        },
        onRequest: (socket) => socket.write(answerOf('next')),
      },
      { dialect: 'backend.ai', route: { maxBody: '64MiB' } },
    );
    const client = (await page.connect()) as RawClient;
    const body = Buffer.alloc(48 << 20, 'x');
    const request = page.bytes('POST', '/v2/upload', { headers: [['Content-Type', OPAQUE]], body });
    await new Promise<void>((resolve) => client.socket.write(request, () => resolve()));
    const response = await client.response('POST');
    expect([response?.status, String(response?.body)]).toEqual([413, 'too large']);
    expect(String((await page.fetch('GET', '/v2/next', {}, client)).body)).toBe('next');
    expect(upstream.connections).toBe(2);
    client.destroy();
  });
});

describe('slow readers', () => {
  it('of large answers cost little memory, and get every byte once they read', async () => {
    const readers = 8;
    const block = Buffer.alloc(1 << 20, 'x');
    const total = 200 * block.length;
    await start(
      {
        onRequest: (socket) => {
          socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`);
          let left = total / block.length;
          const more = () => {
            while (left > 0) {
              left--;
              if (!socket.write(block)) return;
            }
          };
          socket.on('drain', more);
          more();
        },
      },
      { upstream: { connections: readers } },
    );
    const before = process.memoryUsage();
    const clients = await Promise.all(Array.from({ length: readers }, () => page.connect()));
    for (const client of clients) client.send(page.bytes('GET', '/v2/large'));
    for (const client of clients) {
      expect((await client.head())?.status).toBe(200);
      client.socket.pause();
    }
    for (let i = 0; i < 2000; i++) await turn();
    const after = process.memoryUsage();
    // Of 200 MB a reader; clients, upstream and what is not collected yet count, too.
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(readers * (4 << 20));
    const [reader, ...others] = clients as [Client, ...Client[]];
    for (const client of others) client.destroy();
    reader.socket.resume();
    let received = 0;
    while (received < total) received += (await reader.bytes())?.length ?? Number.POSITIVE_INFINITY;
    expect(received).toBe(total);
    reader.destroy();
  });

  it('who take nothing for as long as an upstream may be silent are cut off, and blamed on nobody', async () => {
    await start(
      {
        onRequest: (socket, head) => {
          if (targetOf(head) !== '/v2/large') return void socket.write(answerOf('next'));
          socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${64 << 20}\r\n\r\n`);
          socket.write(Buffer.alloc(64 << 20, 'x'));
        },
      },
      { upstream: { connections: 1, timeouts: { idle: '300ms' } } },
    );
    const client = await page.connect();
    client.send(page.bytes('GET', '/v2/large'));
    expect((await client.head())?.status).toBe(200);
    client.socket.pause();
    // There is one connection, and it is taken away from who does not read.
    expect(String((await page.fetch('GET', '/v2/next')).body)).toBe('next');
    await expect.poll(() => gateway.log.join('')).toContain('"reason":"CLIENT_STALLED"');
    expect(gateway.watched.gateway.insides.endpoints.describe(upstream.origin, Date.now()).attempts).toMatchObject({
      abandoned: 1,
      failed: 0,
    });
    client.socket.resume();
    await client.closed();
  });

  // The last bytes of an answer may be more than the client takes at once: its upstream connection is made to wait, and
  // serves somebody else next.
  it('hold up nobody else on the connection their answer came on', async () => {
    await start({
      onRequest: (socket, head) => {
        const [, , what, size] = targetOf(head).split('/');
        if (what !== 'chunks') return void socket.write(answerOf('next'));
        const chunk = `2000\r\n${'x'.repeat(0x2000)}\r\n`;
        socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(Number(size))}0\r\n\r\n`);
      },
    });
    for (const size of [16, 24, 32, 36, 48, 61, 64, 122, 244, 1024]) {
      const slow = await page.connect();
      slow.socket.pause();
      slow.send(page.bytes('GET', `/v2/chunks/${size}`));
      await upstream.waitUntil(() => upstream.heads.at(-1)?.includes(`/${size} `) === true);
      for (let i = 0; i < 50; i++) await turn();
      slow.socket.resume();
      expect((await slow.response())?.body).toHaveLength(size * 0x2000);
      expect(String((await page.fetch('GET', '/v2/next')).body)).toBe('next');
      slow.destroy();
    }
    expect(upstream.connections).toBe(1);
  });
});

describe('two thousand event streams', () => {
  it('are open at once, each gets its event when it happens, and all end', async () => {
    const count = 2000;
    const streams: Socket[] = [];
    await start(
      {
        onRequest: (socket) => {
          streams.push(socket);
          socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n');
        },
      },
      { upstream: { connections: count } },
    );
    const before = process.memoryUsage().rss;
    const clients: Client[] = [];
    while (clients.length < count) {
      const some = await Promise.all(Array.from({ length: 100 }, () => page.connect()));
      for (const client of some)
        client.send(page.bytes('GET', '/v2/events', { headers: [['Accept', 'text/event-stream']] }));
      for (const client of some) expect((await client.head())?.status).toBe(200);
      clients.push(...some);
    }
    expect(streams).toHaveLength(count);
    expect(gateway.watched.gateway.insides.streams.count).toBe(count);
    for (const [i, socket] of streams.entries()) {
      const event = `data: ${i}\n\n`;
      socket.write(`${event.length.toString(16)}\r\n${event}\r\n`);
    }
    const events = new Set<string>();
    for (const client of clients) events.add(String(await client.chunk()));
    expect(events).toEqual(new Set(streams.map((_, i) => `data: ${i}\n\n`)));
    // Four sockets a stream, two of them the gateway's, all in this process.
    expect(process.memoryUsage().rss - before).toBeLessThan(count * 150_000);
    for (const socket of streams) socket.write('0\r\n\r\n');
    for (const client of clients) expect(await client.chunk()).toHaveLength(0);
    expect(gateway.watched.gateway.insides.streams.count).toBe(0);
    expect(gateway.watched.gateway.insides.endpoints.describe(upstream.origin, Date.now()).pending).toBe(0);
    for (const client of clients) client.destroy();
  });
});

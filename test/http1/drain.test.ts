import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { ConnectionPool } from '../../src/http1/pool.ts';
import type { ResponseHandler } from '../../src/http1/wire.ts';

const GET = {
  head: 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n',
  isHead: false,
  body: undefined,
  chunked: false,
  fresh: false,
  headersTimeout: 5000,
  idleTimeout: 5000,
};

/** A pool of one connection to a server that answers when the test says so. */
async function setUp() {
  const replies: ServerResponse[] = [];
  const server = createServer((_, reply) => replies.push(reply)).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  let connections = 0;
  server.on('connection', () => connections++);
  const { port } = server.address() as AddressInfo;
  const options = { host: '127.0.0.1', port, tls: undefined, connectTimeout: 5000, maxHead: 16384 };
  const pool = new ConnectionPool(options, 1, () => performance.now());
  onTestFinished(() => pool.close());
  const ask = () =>
    new Promise<string>((resolve) => {
      const handler: ResponseHandler = {
        onStart: () => undefined,
        onHead: () => undefined,
        onData: () => undefined,
        onPause: () => undefined,
        onEnd: () => resolve('answered'),
        onError: (error) => resolve(String(error)),
      };
      pool.start(GET, handler);
    });
  const answer = async (count: number) => {
    await expect.poll(() => replies.length).toBe(count);
    replies.at(-1)?.end('well');
  };
  return { pool, ask, answer, connections: () => connections };
}

it('a pool that is drained serves those who wait, then has no connection', async () => {
  const { pool, ask, answer } = await setUp();
  const asked = [ask(), ask(), ask()];
  await answer(1);
  await asked[0];
  pool.drain();
  expect(pool.isDrained).toBe(false);
  await answer(2);
  await answer(3);
  expect(await Promise.all(asked)).toEqual(['answered', 'answered', 'answered']);
  expect(pool.isDrained).toBe(true);
});

it('an idle connection is closed at once, and kept again when the pool is wanted again', async () => {
  const { pool, ask, answer, connections } = await setUp();
  const first = ask();
  await answer(1);
  await first;
  pool.drain();
  expect(pool.isDrained).toBe(true);
  pool.undrain();
  for (const count of [2, 3]) {
    const next = ask();
    await answer(count);
    await next;
  }
  expect(connections()).toBe(2);
});

import { channel } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ConnectionPool } from '../../src/http1/pool.ts';
import {
  answerOf,
  type Behaviour,
  breakOff,
  type MisbehavingUpstream,
  startMisbehavingUpstream,
  targetOf,
} from '../kit/misbehaving-upstream.ts';
import { Clock, exchange, IDENTITY, poolTo, requestOf, TIMEOUTS } from './exchanging.ts';

const POISON = answerOf('poison');

let upstream: MisbehavingUpstream;
let pool: ConnectionPool;
let clock: Clock;

afterEach(async () => {
  pool.close();
  await upstream.close();
});

describe.each(['TCP', 'TLS'] as const)('over %s', (transport) => {
  async function start(behaviour: Behaviour, capacity = 1): Promise<void> {
    upstream = await startMisbehavingUpstream(behaviour, transport === 'TLS' ? IDENTITY : undefined);
    clock = new Clock();
    pool = poolTo(upstream, clock, capacity);
  }

  /** Answers each request with its own target, so that a mistaken answer shows. */
  const echo: Behaviour = { onRequest: (socket, head) => socket.write(answerOf(targetOf(head))) };

  async function expectHealthy(): Promise<void> {
    upstream.behaviour = echo;
    const { body, outcome } = await exchange(pool, requestOf('/healthy')).over;
    expect([outcome, body]).toEqual(['ended', '/healthy']);
  }

  describe('a connection', () => {
    it('carries thousands of requests, and gathers nothing on the way', async () => {
      const opened: Socket[] = [];
      const onOpened = (message: unknown) => opened.push((message as { socket: Socket }).socket);
      const warned = vi.fn();
      channel('net.client.socket').subscribe(onOpened);
      process.on('warning', warned);
      await start(echo);
      const listeners = () =>
        opened
          .flatMap((socket) => socket.eventNames().map((name) => socket.listenerCount(name)))
          .reduce((a, b) => a + b, 0);
      await exchange(pool, requestOf('/first')).over;
      const before = listeners();
      for (let i = 0; i < 3000; i++) {
        const body =
          i % 3 === 1 ? Buffer.alloc(20_000, 'x') : i % 3 === 2 ? new PassThrough().end('streamed') : undefined;
        const method = body === undefined ? 'GET' : 'POST';
        const heard = await exchange(pool, requestOf(`/${i}`, { method, body })).over;
        if (heard.body !== `/${i}`) expect([i, heard.outcome, heard.body]).toEqual([i, 'ended', `/${i}`]);
      }
      expect(upstream.connections).toBe(1);
      expect(listeners()).toBe(before);
      expect(warned).not.toHaveBeenCalled();
      channel('net.client.socket').unsubscribe(onOpened);
      process.off('warning', warned);
    });

    it.each([
      ['says so', 'Connection: close\r\n'],
      ['says so among other things', 'Connection: X-Y , Close\r\n'],
      ['is about to close it', 'Keep-Alive: timeout=1\r\n'],
    ])('is not used again where the server %s', async (_, header) => {
      await start({ onRequest: (socket, head) => socket.write(answerOf(targetOf(head), header)) });
      for (const target of ['/1', '/2']) expect((await exchange(pool, requestOf(target)).over).body).toBe(target);
      expect(upstream.connections).toBe(2);
      await upstream.waitUntil(() => upstream.open === 0);
    });

    it('is not used again behind an HTTP/1.0 response, unless the server offers to', async () => {
      const answers = ['', '', 'Connection: keep-alive\r\n', ''];
      await start({
        onRequest: (socket) => socket.write(answerOf('x', answers.shift()).replace('HTTP/1.1', 'HTTP/1.0')),
      });
      for (let i = 0; i < 4; i++) expect((await exchange(pool, requestOf('/')).over).body).toBe('x');
      expect(upstream.connections).toBe(3);
    });

    it('is closed before the server does that, as it announced', async () => {
      await start({ onRequest: (socket) => socket.write(answerOf('x', 'Keep-Alive: timeout=5, max=100\r\n')) });
      await exchange(pool, requestOf('/')).over;
      clock.now = 3999;
      pool.check(clock.now);
      await exchange(pool, requestOf('/')).over;
      expect(upstream.connections).toBe(1);
      clock.now += 4000;
      pool.check(clock.now);
      await upstream.waitUntil(() => upstream.open === 0);
      await expectHealthy();
    });

    it('that the server closed while nobody used it is not used again', async () => {
      await start(echo);
      await exchange(pool, requestOf('/1')).over;
      upstream.behaviour = { onHead: (socket) => socket.end() };
      const closed = exchange(pool, requestOf('/2'));
      expect(await closed.over).toMatchObject({ outcome: 'failed', sent: true });
      await expectHealthy();
      expect(upstream.connections).toBe(2);
    });

    it('is made anew for a request that asks for it, however many are kept', async () => {
      await start(echo, 3);
      await Promise.all([exchange(pool, requestOf('/1')).over, exchange(pool, requestOf('/2')).over]);
      expect(upstream.connections).toBe(2);
      expect((await exchange(pool, requestOf('/3', { fresh: true })).over).body).toBe('/3');
      expect(upstream.connections).toBe(3);
      // There was room for it, so nobody had to go.
      expect(upstream.open).toBe(3);
    });
  });

  describe('bytes that answer nothing', () => {
    it.each([
      ['in one piece', answerOf('/first') + POISON],
      ['where there can be no body', `HTTP/1.1 304 N\r\nContent-Length: 6\r\n\r\n${POISON}`],
    ])('never pass for the answer to who waits: %s', async (_, bytes) => {
      await start({
        onRequest: (socket, head) =>
          targetOf(head) === '/first' ? socket.write(bytes) : echo.onRequest?.(socket, head),
      });
      const first = exchange(pool, requestOf('/first'));
      const waiting = ['/a', '/b'].map((target) => exchange(pool, requestOf(target)));
      expect((await first.over).outcome).toBe('ended');
      for (const [i, hearing] of waiting.entries()) expect((await hearing.over).body).toBe(['/a', '/b'][i]);
      expect(upstream.connections).toBe(2);
    });

    it('are expected behind a 204 that announces them: its connection is not used again', async () => {
      for (const framing of ['Content-Length: 6', 'Transfer-Encoding: chunked']) {
        await start({ onRequest: (socket) => socket.write(`HTTP/1.1 204 N\r\n${framing}\r\n\r\n`) });
        expect(await exchange(pool, requestOf('/')).over).toMatchObject({ outcome: 'ended', head: { status: 204 } });
        await upstream.waitUntil(() => upstream.open === 0);
        await expectHealthy();
        pool.close();
        await upstream.close();
      }
    });

    // What a read that comes full leaves in the kernel is read in the same turn, after a request was sent.
    it('never pass for an answer where the one before filled the read to the last byte', async () => {
      const head = 'HTTP/1.1 200 OK\r\nContent-Length: ';
      for (const size of [16 * 1024, 64 * 1024, 256 * 1024]) {
        await start({
          onRequest: (socket, request) => {
            if (targetOf(request) !== '/first') return echo.onRequest?.(socket, request);
            const length = size - head.length - 4 - String(size).length;
            socket.write(
              `${head}${`${length}`.padStart(String(size).length, '0')}\r\n\r\n${'x'.repeat(length)}${POISON}`,
            );
          },
        });
        const first = exchange(pool, requestOf('/first'));
        const second = exchange(pool, requestOf('/second'));
        expect((await first.over).outcome).toBe('ended');
        expect((await second.over).body).toBe('/second');
        pool.close();
        await upstream.close();
      }
    });

    it('close a connection that nobody uses', async () => {
      const sockets: Socket[] = [];
      await start({ ...echo, onConnection: (socket) => sockets.push(socket) });
      await exchange(pool, requestOf('/1')).over;
      sockets[0]?.write(POISON);
      await upstream.waitUntil(() => upstream.open === 0);
      await expectHealthy();
    });

    it('are not waited for: a pooled connection has read what arrived with the last response', async () => {
      await start({
        onRequest: (socket, head) => socket.write(answerOf(targetOf(head)) + (targetOf(head) === '/odd' ? 'x' : '')),
      });
      for (const target of ['/1', '/odd', '/2', '/odd', '/3']) {
        expect((await exchange(pool, requestOf(target)).over).body).toBe(target);
      }
      expect(upstream.connections).toBe(3);
    });
  });

  describe('a request', () => {
    it('arrives whole, whatever its body is', async () => {
      const seen: number[] = [];
      await start({
        onConnection: (socket) => void socket.on('data', (bytes) => seen.push(bytes.length)),
        onRequest: (socket) => {
          socket.write(answerOf(String(seen.splice(0).reduce((a, b) => a + b, 0))));
        },
      });
      const bodies = [
        Buffer.alloc(0),
        Buffer.alloc(1, 'x'),
        Buffer.alloc(16 * 1024, '\xff'),
        Buffer.alloc(16 * 1024 + 1, 'x'),
        Buffer.alloc(256 * 1024, 'x'),
        Buffer.alloc(5_000_001, 'x'),
        [Buffer.alloc(10, 'x'), Buffer.alloc(300_000, 'y'), Buffer.alloc(1, 'z')],
        Array.from({ length: 100 }, (_, i) => Buffer.alloc(i * 1000 + 1, 'x')),
      ];
      for (const body of bodies) {
        const request = requestOf('/', { method: 'POST', body });
        const size = request.head.length + Buffer.concat([body].flat()).length;
        expect((await exchange(pool, request).over).body).toBe(String(size));
      }
      expect(upstream.connections).toBe(1);
    });

    it('may be answered before it is whole: then its connection is not used again', async () => {
      const body = Buffer.alloc(64 << 20, 'x');
      await start({
        onHead: (socket) => {
          socket.pause();
          socket.write(answerOf('too large'));
        },
      });
      const early = await exchange(pool, requestOf('/', { method: 'POST', body })).over;
      expect([early.outcome, early.body]).toEqual(['ended', 'too large']);
      await expectHealthy();
      expect(upstream.connections).toBe(2);
    });

    it('that is streamed may be answered before it is whole: the rest of it is read by nobody, but read', async () => {
      const body = new PassThrough();
      await start({
        onHead: (socket) => {
          socket.pause();
          socket.write(answerOf('too large'));
        },
      });
      const hearing = exchange(pool, requestOf('/', { method: 'POST', body }));
      await hearing.until(() => hearing.exchange !== undefined);
      // The server takes none of it, so it comes to a halt.
      while (body.write(Buffer.alloc(1 << 16, 'x')) || hearing.outcome === undefined) await turn();
      expect((await hearing.over).body).toBe('too large');
      await new Promise<void>((resolve) => body.end('rest', () => resolve()));
      expect(body.readableLength).toBe(0);
      await expectHealthy();
    });

    it('is given up when the server stops taking it', async () => {
      await start({ onHead: (socket) => void socket.pause() });
      const hearing = exchange(pool, requestOf('/', { method: 'POST', body: Buffer.alloc(64 << 20, 'x') }));
      await upstream.waitUntil(() => upstream.heads.length === 1);
      // Until the kernel takes no more, there is progress.
      for (let i = 0; hearing.outcome === undefined && i < 1000; i++) {
        clock.now += TIMEOUTS.idle;
        pool.check(clock.now);
        await turn();
      }
      expect(hearing).toMatchObject({ outcome: 'failed', error: { code: 'UPSTREAM_IDLE_TIMEOUT' }, sent: true });
    });

    it('may take as long as it likes while the server takes some of it', async () => {
      let paused: Socket | undefined;
      await start({
        onHead: (socket) => {
          paused = socket.pause();
          socket.on('data', () => socket.pause());
        },
        onRequest: echo.onRequest as NonNullable<Behaviour['onRequest']>,
      });
      const size = 48 << 20;
      const hearing = exchange(
        pool,
        requestOf('/slow', { method: 'POST', body: Buffer.alloc(size, 'x'), headersTimeout: 1e9 }),
      );
      await upstream.waitUntil(() => upstream.heads.length === 1);
      // Four megabytes within each idle timeout, with time for the kernel to pass the word.
      while (hearing.outcome === undefined) {
        const before = paused?.bytesRead ?? 0;
        while ((paused?.bytesRead ?? 0) < before + (4 << 20) && hearing.outcome === undefined) {
          paused?.resume();
          await turn();
        }
        for (let i = 0; i < 50; i++) await turn();
        clock.now += TIMEOUTS.idle;
        if ((paused?.bytesRead ?? 0) < size) pool.check(clock.now);
      }
      expect([hearing.outcome, hearing.error, hearing.body]).toEqual(['ended', undefined, '/slow']);
    });

    it('whose client is slow is not held against the server', async () => {
      await start(echo);
      const body = new PassThrough();
      const hearing = exchange(pool, requestOf('/slow', { method: 'POST', body }));
      body.write('begin');
      await upstream.waitUntil(() => upstream.heads.length === 1);
      for (let i = 0; i < 5; i++) {
        clock.now += 2 * TIMEOUTS.idle;
        pool.check(clock.now);
      }
      body.end('end');
      expect((await hearing.over).body).toBe('/slow');
    });
  });

  describe('a response', () => {
    // Its last bytes were too many for the client: reading stops, and nobody would ever start it again.
    it('that was paused to its end leaves a connection that reads', async () => {
      await start(echo);
      for (const target of ['/1', '/2', '/3']) {
        const paused = exchange(pool, requestOf(target), { onData: ({ exchange }) => exchange?.pause() });
        expect((await paused.over).body).toBe(target);
      }
      expect(upstream.connections).toBe(1);
      // A connection that does not read would not notice this either.
      upstream.behaviour = { onHead: (socket) => socket.end() };
      await exchange(pool, requestOf('/'), { onHead: ({ exchange }) => exchange?.pause() }).over;
      await upstream.waitUntil(() => upstream.open === 0);
    });

    it('is read no further than its reader wants', async () => {
      const total = 64 << 20;
      let written = 0;
      await start({
        onRequest: (socket) => {
          socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`);
          const block = Buffer.alloc(1 << 20, 'x');
          const more = () => {
            while (written < total) {
              written += block.length;
              if (!socket.write(block)) break;
            }
          };
          socket.on('drain', more);
          more();
        },
      });
      let isStopped = true;
      const hearing = exchange(pool, requestOf('/'), {
        onData: ({ exchange }) => {
          if (isStopped) exchange?.pause();
        },
      });
      await hearing.until(() => hearing.bytes > 0);
      for (let i = 0; i < 200; i++) await turn();
      expect(hearing.bytes).toBeLessThan(1 << 20);
      expect(written).toBeLessThan(total / 2);
      clock.now += TIMEOUTS.idle / 2;
      pool.check(clock.now);
      isStopped = false;
      hearing.exchange?.resume(hearing);
      expect(await hearing.over).toMatchObject({ outcome: 'ended', bytes: total, late: [] });
    });

    it.each([
      ['the head does not come', undefined, 'UPSTREAM_HEADERS_TIMEOUT', TIMEOUTS.headers],
      ['the head comes by half', 'HTTP/1.1 200 OK\r\nX', 'UPSTREAM_HEADERS_TIMEOUT', TIMEOUTS.headers],
      ['informational heads alone come', 'HTTP/1.1 100 C\r\n\r\n', 'UPSTREAM_HEADERS_TIMEOUT', TIMEOUTS.headers],
      ['the body stops', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx', 'UPSTREAM_IDLE_TIMEOUT', TIMEOUTS.idle],
    ])('is given up in time when %s', async (_, bytes, code, timeout) => {
      await start({ onRequest: (socket) => bytes !== undefined && socket.write(bytes) });
      const hearing = exchange(pool, requestOf('/'));
      await upstream.waitUntil(() => upstream.heads.length === 1);
      if (code === 'UPSTREAM_IDLE_TIMEOUT') await hearing.until(() => hearing.bytes === 1);
      pool.check(clock.now + timeout - 1);
      expect(hearing.outcome).toBeUndefined();
      pool.check(clock.now + timeout);
      expect(hearing).toMatchObject({ outcome: 'failed', error: { code }, sent: true });
      await upstream.waitUntil(() => upstream.open === 0);
    });

    it('may be silent for ever where the request says so', async () => {
      await start({ onRequest: (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n') });
      const hearing = exchange(pool, requestOf('/', { idleTimeout: 0 }));
      await hearing.until(() => hearing.head !== undefined);
      pool.check(clock.now + 1e9);
      expect(hearing.outcome).toBeUndefined();
    });

    it.each([
      ['resets before', '', 'reset'],
      ['closes before', '', 'end'],
      ['closes within the head', 'HTTP/1.1 200 OK\r\nCont', 'end'],
      ['resets within the body', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx', 'reset'],
      ['closes within the body', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx', 'end'],
      ['closes within the chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n', 'end'],
    ])('fails once when the server %s it', async (_, bytes, how) => {
      await start({
        onRequest: (socket) =>
          socket.write(bytes, () => (how === 'end' ? socket.end() : setImmediate(() => breakOff(socket)))),
      });
      const hearing = await exchange(pool, requestOf('/')).over;
      expect(hearing).toMatchObject({ outcome: 'failed', sent: true, late: [] });
      await expectHealthy();
      expect(hearing.late).toEqual([]);
    });

    // Over TLS, node:tls does not tell a connection that was ended from one that was cut off.
    if (transport === 'TCP') {
      it('without an end of its own fails when the connection is reset', async () => {
        await start({
          onRequest: (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nx', () => setImmediate(() => breakOff(socket))),
        });
        expect(await exchange(pool, requestOf('/')).over).toMatchObject({ outcome: 'failed', sent: true });
      });
    }

    it('without an end of its own ends with the connection', async () => {
      await start({ onRequest: (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nall of it') });
      expect(await exchange(pool, requestOf('/')).over).toMatchObject({ outcome: 'ended', body: 'all of it' });
      await expectHealthy();
    });
  });

  describe('a request that is given up', () => {
    it.each([
      ['while the connection is made', {}, async () => undefined],
      ['while its answer is awaited', {}, () => upstream.waitUntil(() => upstream.heads.length > 0)],
      [
        'within the head of its answer',
        { onRequest: (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\nX') },
        () => upstream.waitUntil(() => upstream.heads.length > 0),
      ],
    ])('%s is heard of no more, and its connection is closed', async (_, behaviour: Behaviour, moment) => {
      await start(behaviour);
      const hearing = exchange(pool, requestOf('/'));
      await moment();
      hearing.abort();
      await upstream.waitUntil(() => upstream.open === 0);
      await expectHealthy();
      expect(hearing.late).toEqual([]);
    });

    it.each(['onHead', 'onData', 'onPause'] as const)('by its own %s is heard of no more', async (what) => {
      await start({
        onRequest: (socket) => {
          socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n1\r\ny\r\n');
          socket.write('1\r\nz\r\n0\r\n\r\n');
        },
      });
      const hearing = exchange(pool, requestOf('/'), { [what]: (self: typeof hearing) => self.abort() });
      await hearing.until(() => hearing.outcome !== undefined);
      await expectHealthy();
      expect(hearing.late).toEqual([]);
    });

    it('while it is sent takes its connection with it, and nothing of its body is read any more', async () => {
      await start({ onHead: (socket) => void socket.pause() });
      const body = new PassThrough();
      body.write(Buffer.alloc(1000, 'x'));
      const hearing = exchange(pool, requestOf('/', { method: 'POST', body }));
      await upstream.waitUntil(() => upstream.heads.length === 1);
      hearing.abort();
      expect(body.listenerCount('end')).toBe(0);
      await expectHealthy();
      expect(hearing.late).toEqual([]);
    });

    it('has no say in whom its connection serves next', async () => {
      await start(echo);
      const first = await exchange(pool, requestOf('/1')).over;
      const second = exchange(pool, requestOf('/2'));
      first.exchange?.abort(first);
      first.exchange?.resume(first);
      expect((await second.over).body).toBe('/2');
      expect(upstream.connections).toBe(1);
    });
  });
});

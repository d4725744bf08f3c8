import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { ConnectionPool } from '../../src/http1/pool.ts';
import {
  answerOf,
  type Behaviour,
  type MisbehavingUpstream,
  startMisbehavingUpstream,
  targetOf,
} from '../kit/misbehaving-upstream.ts';
import { Clock, exchange, Hearing, IDENTITY, poolTo, requestOf, TIMEOUTS } from './exchanging.ts';

let upstream: MisbehavingUpstream;
let pool: ConnectionPool;
let clock: Clock;

afterEach(async () => {
  pool.close();
  await upstream.close();
});

describe.each(['TCP', 'TLS'] as const)('a pool over %s', (transport) => {
  async function start(behaviour: Behaviour, capacity = 1): Promise<void> {
    upstream = await startMisbehavingUpstream(behaviour, transport === 'TLS' ? IDENTITY : undefined);
    clock = new Clock();
    pool = poolTo(upstream, clock, capacity);
  }

  const echo: Behaviour = { onRequest: (socket, head) => socket.write(answerOf(targetOf(head))) };

  it('has no more connections than it may have, and serves all who wait', async () => {
    await start(echo, 3);
    const served: string[] = [];
    const hearings = Array.from({ length: 100 }, (_, i) => exchange(pool, requestOf(`/${i}`)));
    await Promise.all(hearings.map((hearing) => hearing.over.then(() => served.push(hearing.body))));
    expect(upstream.connections).toBe(3);
    expect(served).toHaveLength(100);
    for (const [i, { body }] of hearings.entries()) expect(body).toBe(`/${i}`);
  });

  it('lets nobody overtake those who wait', async () => {
    await start(echo);
    const hearings = [0, 1, 2].map((i) => exchange(pool, requestOf(`/${i}`)));
    // Asked for at the moment a connection becomes free.
    const late: Hearing[] = [];
    await hearings[0]?.over;
    late.push(exchange(pool, requestOf('/late')));
    for (const hearing of [...hearings, ...late]) expect((await hearing.over).outcome).toBe('ended');
    expect(upstream.heads.map(targetOf)).toEqual(['/0', '/1', '/2', '/late']);
  });

  it('forgets who waited and left', async () => {
    let socketBusy: (() => void) | undefined;
    await start({
      onRequest: (socket, head) => {
        const answer = () => void socket.write(answerOf(targetOf(head)));
        if (targetOf(head) === '/busy') socketBusy = answer;
        else answer();
      },
    });
    const busy = exchange(pool, requestOf('/busy'));
    const leaves = exchange(pool, requestOf('/leaves'));
    const stays = exchange(pool, requestOf('/stays'));
    await upstream.waitUntil(() => socketBusy !== undefined);
    pool.cancel(leaves);
    socketBusy?.();
    expect((await busy.over).body).toBe('/busy');
    expect((await stays.over).body).toBe('/stays');
    expect([leaves.outcome, leaves.exchange]).toEqual([undefined, undefined]);
    expect(upstream.heads.map(targetOf)).toEqual(['/busy', '/stays']);
  });

  it('gives the place of a connection that breaks to who waits', async () => {
    await start({
      onRequest: (socket, head) => (targetOf(head) === '/breaks' ? socket.destroy() : socket.write(answerOf('x'))),
    });
    const breaks = exchange(pool, requestOf('/breaks'));
    const next = exchange(pool, requestOf('/next'));
    expect(await breaks.over).toMatchObject({ outcome: 'failed', sent: true });
    expect(await next.over).toMatchObject({ outcome: 'ended', body: 'x' });
  });

  it('tells who waited too long that nothing was sent, however much longer others are ready to', async () => {
    await start({});
    exchange(pool, requestOf('/busy', { headersTimeout: 1e9 }));
    const patient = exchange(pool, requestOf('/patient', { headersTimeout: 1e9 }));
    const waits = exchange(pool, requestOf('/waits'));
    await upstream.waitUntil(() => upstream.heads.length === 1);
    pool.check(TIMEOUTS.headers - 1);
    expect(waits.outcome).toBeUndefined();
    pool.check(TIMEOUTS.headers);
    expect(waits).toMatchObject({ outcome: 'failed', error: { code: 'UPSTREAM_HEADERS_TIMEOUT' }, sent: false });
    expect(patient.outcome).toBeUndefined();
  });

  it('makes room for a request that asks for a new connection', async () => {
    await start(echo);
    await exchange(pool, requestOf('/1')).over;
    expect((await exchange(pool, requestOf('/2', { fresh: true })).over).body).toBe('/2');
    expect(upstream.connections).toBe(2);
    await upstream.waitUntil(() => upstream.open === 1);
  });

  it('that is closed breaks what is under way, once each, and takes nothing more', async () => {
    await start({}, 2);
    const again: Hearing[] = [];
    class Stubborn extends Hearing {
      override onError(error: unknown, sent: boolean): void {
        super.onError(error, sent);
        again.push(exchange(pool, requestOf('/again')));
      }
    }
    const hearings = Array.from({ length: 4 }, (_, i) => {
      const hearing = new Stubborn();
      pool.start(requestOf(`/${i}`), hearing);
      return hearing;
    });
    await upstream.waitUntil(() => upstream.heads.length === 2);
    pool.close();
    expect(hearings.map(({ outcome, sent }) => [outcome, sent])).toEqual([
      ['failed', true],
      ['failed', true],
      ['failed', false],
      ['failed', false],
    ]);
    expect(again.map(({ outcome, sent }) => [outcome, sent])).toEqual(Array(4).fill(['failed', false]));
    await upstream.waitUntil(() => upstream.open === 0);
    for (let i = 0; i < 10; i++) await turn();
    expect(upstream.connections).toBe(2);
    expect(hearings.flatMap(({ late }) => late)).toEqual([]);
  });

  it('gives a connection that is not made in time up', async () => {
    await start({});
    const hearing = exchange(pool, requestOf('/'));
    pool.check(TIMEOUTS.connect - 1);
    expect(hearing.outcome).toBeUndefined();
    pool.check(TIMEOUTS.connect);
    expect(hearing).toMatchObject({ outcome: 'failed', error: { code: 'UPSTREAM_CONNECT_TIMEOUT' }, sent: false });
    upstream.behaviour = echo;
    expect((await exchange(pool, requestOf('/next')).over).body).toBe('/next');
    expect(hearing.late).toEqual([]);
  });

  it('tells that nothing was sent where the connection was refused', async () => {
    await start({});
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address() as AddressInfo;
    free.close();
    await once(free, 'close');
    const nowhere = poolTo({ origin: upstream.origin, port }, clock);
    const hearings = [1, 2, 3].map(() => exchange(nowhere, requestOf('/')));
    for (const hearing of hearings) {
      expect(await hearing.over).toMatchObject({ outcome: 'failed', error: { code: 'ECONNREFUSED' }, sent: false });
    }
  });
});

describe('a pool over TLS', () => {
  async function start(options: Parameters<typeof poolTo>[3]): Promise<void> {
    upstream = await startMisbehavingUpstream({}, IDENTITY);
    clock = new Clock();
    pool = poolTo(upstream, clock, 1, options);
  }

  // What is sent before the other side has shown who it is, is sent to anybody: a signature is a credential.
  it.each([
    ['nobody vouches for', {}, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['is somebody else’s', { ca: IDENTITY.cert, servername: 'elsewhere.test' }, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ])('sends nothing to a server whose certificate %s', async (_, tls, code) => {
    await start({ tls });
    expect(await exchange(pool, requestOf('/')).over).toMatchObject({
      outcome: 'failed',
      error: { code },
      sent: false,
    });
    expect(upstream.heads).toEqual([]);
    await upstream.waitUntil(() => upstream.open === 0);
  });

  it('sends nothing to a server that does not speak it', async () => {
    upstream = await startMisbehavingUpstream({
      onConnection: (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    });
    clock = new Clock();
    pool = poolTo({ origin: 'https://', port: upstream.port }, clock);
    expect(await exchange(pool, requestOf('/')).over).toMatchObject({ outcome: 'failed', sent: false });
  });

  it('gives a handshake that is not answered up in time', async () => {
    upstream = await startMisbehavingUpstream({});
    clock = new Clock();
    pool = poolTo({ origin: 'https://', port: upstream.port }, clock);
    const hearing = exchange(pool, requestOf('/'));
    await upstream.waitUntil(() => upstream.connections === 1);
    pool.check(TIMEOUTS.connect);
    expect(hearing).toMatchObject({ outcome: 'failed', error: { code: 'UPSTREAM_CONNECT_TIMEOUT' }, sent: false });
    await upstream.waitUntil(() => upstream.open === 0);
  });
});

describe('a server name with several addresses', () => {
  it('is reached at the one that answers', async () => {
    upstream = await startMisbehavingUpstream({ onRequest: (socket) => socket.write(answerOf('x')) });
    clock = new Clock();
    // Commonly ::1 and 127.0.0.1, of which the upstream listens on the second.
    pool = poolTo(upstream, clock, 1, { host: 'localhost' });
    for (let i = 0; i < 2; i++) expect((await exchange(pool, requestOf('/')).over).body).toBe('x');
    expect(upstream.connections).toBe(1);
  });
});

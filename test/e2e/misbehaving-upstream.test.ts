import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { FrontEnd } from '../kit/front-end.ts';
import { startGateway, type TestGateway } from '../kit/gateway.ts';
import {
  answerOf,
  type Behaviour,
  breakOff,
  type MisbehavingUpstream,
  startMisbehavingUpstream,
  targetOf,
} from '../kit/misbehaving-upstream.ts';
import type { RawResponse } from '../kit/raw-client.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

const CONNECTIONS = 2;

let upstream: MisbehavingUpstream;
let unused: StrictUpstream;
let gateway: TestGateway;
let page: FrontEnd;

async function start(behaviour: Behaviour): Promise<void> {
  upstream = await startMisbehavingUpstream(behaviour);
  ({ gateway, upstream: unused } = await startGateway({
    upstream: {
      endpoints: [upstream.origin],
      connections: CONNECTIONS,
      timeouts: { headers: '400ms', idle: '400ms' },
    },
  }));
  page = await FrontEnd.signIn(gateway.port);
}

afterEach(async () => {
  await gateway.close();
  await Promise.all([upstream.close(), unused.close()]);
});

interface Row {
  readonly it: string;
  readonly behaviour: Behaviour;
  /** What it does once its head has reached the browser. */
  readonly later?: (socket: Socket) => void;
  /** What the browser gets: a problem, or `whole` or `broken` where the upstream's own answer had begun. */
  readonly browser: readonly [number, string] | 'whole' | 'broken';
  /** The log's reason. */
  readonly reason: string | undefined;
  /** Requests the upstream saw of one GET; of a POST it never sees more than one. */
  readonly gets: number;
}

const HEAD = 'HTTP/1.1 200 OK\r\n';
const FAILED = [502, 'upstream-failed'] as const;
const LATE = [504, 'upstream-timeout'] as const;
const CLOSED = 'UPSTREAM_CLOSED';
const MALFORMED = 'UPSTREAM_MALFORMED';

const says = (bytes: string): Behaviour => ({ onRequest: (socket) => socket.write(bytes, 'latin1') });
const saysAndEnds = (bytes: string): Behaviour => ({ onRequest: (socket) => socket.end(bytes, 'latin1') });
/** The same bytes again and again, as fast as they are taken, until the other side has had enough. */
const saysForEver = (begin: string, piece: string): Behaviour => ({
  onRequest: (socket) => {
    socket.write(begin);
    const block = Buffer.from(piece.repeat(Math.ceil(65536 / piece.length)), 'latin1');
    const more = () => {
      while (!socket.destroyed && socket.bytesWritten < 1 << 30) if (!socket.write(block)) return;
    };
    socket.on('drain', more);
    more();
  },
});

const drips = (bytes: string, every: number): Behaviour => ({
  onRequest: (socket) => {
    let at = 0;
    const timer = setInterval(() => socket.write(bytes.charAt(at++ % bytes.length)), every);
    socket.once('close', () => clearInterval(timer));
  },
});

const ROWS: readonly Row[] = [
  { it: 'says nothing', behaviour: {}, browser: LATE, reason: 'UPSTREAM_HEADERS_TIMEOUT', gets: 1 },
  {
    it: 'stops within the head',
    behaviour: says(`${HEAD}Cont`),
    browser: LATE,
    reason: 'UPSTREAM_HEADERS_TIMEOUT',
    gets: 1,
  },
  {
    it: 'drips its head byte by byte',
    behaviour: drips(`${HEAD}X: ${'x'.repeat(1000)}`, 5),
    browser: LATE,
    reason: 'UPSTREAM_HEADERS_TIMEOUT',
    gets: 1,
  },
  {
    it: 'says 100 Continue and nothing else',
    behaviour: says('HTTP/1.1 100 Continue\r\n\r\n'),
    browser: LATE,
    reason: 'UPSTREAM_HEADERS_TIMEOUT',
    gets: 1,
  },
  {
    it: 'stops within the body',
    behaviour: says(`${HEAD}Content-Length: 9\r\n\r\nx`),
    browser: 'broken',
    reason: 'UPSTREAM_IDLE_TIMEOUT',
    gets: 1,
  },
  {
    it: 'closes at once',
    behaviour: { onConnection: (socket) => socket.end() },
    browser: FAILED,
    reason: CLOSED,
    gets: 2,
  },
  { it: 'closes without an answer', behaviour: saysAndEnds(''), browser: FAILED, reason: CLOSED, gets: 2 },
  { it: 'closes within the head', behaviour: saysAndEnds(`${HEAD}Cont`), browser: FAILED, reason: CLOSED, gets: 2 },
  {
    it: 'resets without an answer',
    behaviour: { onRequest: breakOff },
    browser: FAILED,
    reason: 'ECONNRESET',
    gets: 2,
  },
  {
    it: 'resets within the body',
    behaviour: says(`${HEAD}Content-Length: 9\r\n\r\nx`),
    later: breakOff,
    browser: 'broken',
    reason: 'ECONNRESET',
    gets: 1,
  },
  {
    it: 'resets a body without an end of its own',
    behaviour: says(`${HEAD}\r\nx`),
    later: breakOff,
    browser: 'broken',
    reason: 'ECONNRESET',
    gets: 1,
  },
  {
    it: 'promises more than it sends',
    behaviour: saysAndEnds(`${HEAD}Content-Length: 9\r\n\r\nx`),
    browser: 'broken',
    reason: CLOSED,
    gets: 1,
  },
  {
    it: 'sends chunks without a last one',
    behaviour: saysAndEnds(`${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n`),
    browser: 'broken',
    reason: CLOSED,
    gets: 1,
  },
  {
    it: 'sends more than it promised',
    behaviour: says(`${answerOf('whole')}and more`),
    browser: 'whole',
    reason: undefined,
    gets: 1,
  },
  {
    it: 'answers twice',
    behaviour: says(answerOf('whole') + answerOf('again')),
    browser: 'whole',
    reason: undefined,
    gets: 1,
  },
  {
    it: 'answers before the request is whole, and closes',
    behaviour: { onHead: (socket) => socket.end(answerOf('whole')) },
    browser: 'whole',
    reason: undefined,
    gets: 1,
  },
  { it: 'sends garbage', behaviour: says('\0\x01garbage\r\n\r\n'), browser: FAILED, reason: MALFORMED, gets: 1 },
  {
    it: 'speaks another protocol first',
    behaviour: { onConnection: (socket) => socket.write('SSH-2.0-x\r\n') },
    browser: FAILED,
    reason: MALFORMED,
    gets: 1,
  },
  {
    it: 'switches protocols unasked',
    behaviour: says('HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
    browser: FAILED,
    reason: MALFORMED,
    gets: 1,
  },
  {
    it: 'answers in HTTP/2',
    behaviour: says('HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n'),
    browser: FAILED,
    reason: MALFORMED,
    gets: 1,
  },
  {
    it: 'frames its answer twice',
    behaviour: says(`${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`),
    browser: FAILED,
    reason: MALFORMED,
    gets: 1,
  },
  {
    it: 'sends a chunk without a size',
    behaviour: says(`${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n`),
    later: (socket) => void socket.write('x\r\n'),
    browser: 'broken',
    reason: MALFORMED,
    gets: 1,
  },
  {
    it: 'sends a header of 1 GB',
    behaviour: saysForEver(`${HEAD}X: `, 'x'),
    browser: FAILED,
    reason: MALFORMED,
    gets: 1,
  },
  {
    it: 'sends 1 GB of headers',
    behaviour: saysForEver(HEAD, 'X: y\r\n'),
    browser: FAILED,
    reason: MALFORMED,
    gets: 1,
  },
  {
    it: 'sends 1 GB of informational heads',
    behaviour: saysForEver('', 'HTTP/1.1 103 E\r\nLink: </a>\r\n\r\n'),
    browser: FAILED,
    reason: MALFORMED,
    gets: 1,
  },
  {
    it: 'sends a chunk extension of 1 GB',
    behaviour: saysForEver(`${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n1;`, 'x'),
    browser: 'broken',
    reason: MALFORMED,
    gets: 1,
  },
  {
    it: 'sends trailers of 1 GB',
    behaviour: saysForEver(`${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n`, 'X: y\r\n'),
    browser: 'broken',
    reason: MALFORMED,
    gets: 1,
  },
];

/** One request, its response if there was one. `later`: called when the head of that is here. */
async function ask(
  method: string,
  later?: () => void,
): Promise<Pick<RawResponse, 'status' | 'complete' | 'body'> | undefined> {
  const client = await page.connect();
  const body = method === 'POST' ? Buffer.alloc(1_000_000, ' ').fill('{}', 0, 2) : undefined;
  client.send(page.bytes(method, '/v2/x', { body }));
  try {
    if (later === undefined) {
      const response = await client.response(method);
      if (response?.complete !== true) await client.closed();
      return response;
    }
    const head = await client.head();
    later();
    const rest = await client.closed();
    const isChunked = head?.rawHeaders.some(([name]) => name.toLowerCase() === 'transfer-encoding');
    return (
      head && {
        status: head.status,
        body: rest,
        complete: isChunked ? String(rest).endsWith('0\r\n\r\n') : rest.length >= 9,
      }
    );
  } finally {
    client.destroy();
  }
}

async function logOf(target: string): Promise<{ reason?: string; attempts?: number }> {
  for (;;) {
    const line = gateway.log.find((it) => it.includes(`"path":"${target}"`));
    if (line !== undefined) return JSON.parse(line);
    await turn();
  }
}

/** Nothing is left of what went wrong. */
async function expectHealthy(): Promise<void> {
  upstream.behaviour = { onRequest: (socket, head) => socket.write(answerOf(targetOf(head))) };
  const answers = await Promise.all([1, 2, 3].map((i) => page.fetch('GET', `/v2/healthy/${i}`)));
  expect(answers.map(({ status, body }) => [status, String(body)])).toEqual(
    [1, 2, 3].map((i) => [200, `/v2/healthy/${i}`]),
  );
  await upstream.waitUntil(() => upstream.open <= CONNECTIONS);
  const { pending } = gateway.watched.gateway.insides.endpoints.describe(upstream.origin, Date.now());
  expect(pending).toBe(0);
}

describe.each(['GET', 'POST'])('an upstream asked by %s', (method) => {
  it.each(ROWS)('that $it', async ({ behaviour, later, browser, reason, gets }) => {
    const sockets: Socket[] = [];
    await start({
      ...behaviour,
      onConnection: (socket) => {
        sockets.push(socket);
        behaviour.onConnection?.(socket);
      },
    });
    const before = process.memoryUsage().rss;
    const response = await ask(method, later && (() => later(sockets[0] as Socket)));
    if (browser === 'whole') {
      expect([response?.status, response?.complete, String(response?.body)]).toEqual([200, true, 'whole']);
    } else if (browser === 'broken') {
      // A reset may overtake the beginning, unless the browser has read that before.
      expect(response?.complete ?? false).toBe(false);
      expect(later === undefined ? [200, undefined] : [200]).toContain(response?.status);
    } else {
      expect(response?.status).toBe(browser[0]);
      expect(JSON.parse(String(response?.body))).toMatchObject({
        type: expect.stringMatching(new RegExp(`/${browser[1]}$`)),
      });
    }
    expect((await logOf('/v2/x')).reason).toBe(reason);
    if (behaviour.onConnection === undefined) expect(upstream.heads).toHaveLength(method === 'GET' ? gets : 1);
    expect(upstream.connections).toBeLessThanOrEqual(method === 'GET' ? gets : 1);
    // However much there was to be sent, it was cut off early.
    for (const socket of sockets) expect(socket.bytesWritten).toBeLessThan(32 << 20);
    expect(process.memoryUsage().rss - before).toBeLessThan(128 << 20);
    await expectHealthy();
  });

  it('that refuses connections', async () => {
    await start({});
    const { port } = upstream;
    await upstream.close();
    const response = await ask(method);
    expect(response?.status).toBe(502);
    expect(JSON.parse(String(response?.body))).toMatchObject({
      type: expect.stringMatching(/\/upstream-unreachable$/),
    });
    expect((await logOf('/v2/x')).reason).toBe('ECONNREFUSED');
    upstream = await startMisbehavingUpstream({}, undefined, port);
    await expectHealthy();
  });
});

describe('an upstream that closes its kept connections', () => {
  // As a server does that is restarted: all of them at once, found out one request later.
  it('costs a GET one more attempt, on a new connection, and a POST its answer', async () => {
    const kept: Socket[] = [];
    await start({
      onConnection: (socket) => kept.push(socket),
      onRequest: (socket, head) => socket.write(answerOf(targetOf(head))),
    });
    const open = async () => {
      upstream.behaviour = { ...upstream.behaviour, onRequest: (socket, head) => waiting.push([socket, head]) };
      const waiting: [Socket, string][] = [];
      const asked = [1, 2].map((i) => page.fetch('GET', `/v2/${i}`));
      const before = upstream.heads.length;
      await upstream.waitUntil(() => upstream.heads.length === before + 2);
      for (const [socket, head] of waiting) socket.write(answerOf(targetOf(head)));
      await Promise.all(asked);
    };
    for (const method of ['GET', 'POST']) {
      await open();
      const stale = new Set(kept);
      upstream.behaviour = {
        ...upstream.behaviour,
        onHead: (socket) => stale.has(socket) && breakOff(socket),
        onRequest: (socket, head) => socket.write(answerOf(targetOf(head))),
      };
      const before = upstream.heads.length;
      const response = await page.fetch(method, '/v2/after', { body: method === 'POST' ? '{}' : undefined });
      expect([method, response.status]).toEqual([method, method === 'GET' ? 200 : 502]);
      expect(upstream.heads.length - before).toBe(method === 'GET' ? 2 : 1);
    }
    await expectHealthy();
  });
});

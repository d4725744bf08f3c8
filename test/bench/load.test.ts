import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Children } from '../../bench/children.ts';
import { AnswerParser } from '../../bench/clients/answer-parser.ts';
import { Clients } from '../../bench/clients.ts';
import { BuiltInLoad } from '../../bench/load/built-in.ts';
import { type RunningPeer, UNUSED_COOKIE } from '../../bench/peer.ts';
import { judgeSignature } from '../../bench/peers/signature.ts';
import { startNodeUpstream } from '../../bench/upstream.ts';
import type { Drive } from '../../bench/workload.ts';
import { WORKLOADS } from '../../bench/workloads/all.ts';
import { get1k } from '../../bench/workloads/get-1k.ts';
import { latency } from '../../bench/workloads/latency.ts';
import { post1k } from '../../bench/workloads/post-1k.ts';
import { post1m } from '../../bench/workloads/post-1m.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-test-'));
const children = new Children({ prefix: { proxy: [], proxies: [], rest: [] }, cpus: undefined });
const clients = new Clients(children, folder);
const drive: Drive = { clients, load: new BuiltInLoad(clients), rate: 200, begin: () => undefined };
/** The upstream itself stands in for a peer that does everything right but sign. */
let upstream: RunningPeer;

beforeAll(async () => {
  upstream = { ...(await startNodeUpstream(children)), cookie: UNUSED_COOKIE };
});
afterAll(async () => {
  await children.end();
  rmSync(folder, { recursive: true });
});

describe('the workloads, where wrk and nginx are not installed', () => {
  it.each(WORKLOADS.filter(({ name }) => name !== 'uploads'))('measures: $title', async (workload) => {
    await workload.check(upstream);
    let begun = 0;
    const begin = () => {
      begun++;
    };
    const { units, errors, seconds } = await workload.run(upstream, 0.3, { ...drive, begin });
    // Elsewhere the round begins with its connections.
    expect(begun).toBe(['echo', 'events'].includes(workload.name) ? 1 : 0);
    expect(errors).toBe(0);
    expect(units).toBeGreaterThan(0);
    expect(seconds).toBeGreaterThanOrEqual(0.3);
  });

  it('fails a peer that does not sign where it should', async () => {
    const unsigned = { ...upstream, judge: judgeSignature };
    for (const workload of [get1k, post1m]) await expect(workload.check(unsigned)).rejects.toThrow('cookie');
    const seen = { method: 'GET', target: '/v2/reply', headers: [], bodySha256: null };
    expect(() => judgeSignature(seen, '')).toThrow('signs wrongly: not exactly one Authorization');
  });
});

/** A server that answers each request, when told to, with these bytes. */
async function serverOf(answer: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('data', () => answer(socket));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { peer: { pid: process.pid, port, cookie: UNUSED_COOKIE }, close };
}

describe('what goes wrong under load', () => {
  it.each([
    ['refusals', 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n'],
    ['answers that are none', 'garbage\r\n\r\n'],
    ['answers that would end with their connection', 'HTTP/1.1 200 OK\r\n\r\nno length'],
  ])('counts %s', async (_what, text) => {
    const { peer, close } = await serverOf((socket) => socket.write(text));
    try {
      for (const workload of [post1k, latency]) {
        const { errors } = await workload.run(peer, 0.2, drive);
        expect(errors).toBeGreaterThan(0);
      }
    } finally {
      close();
    }
  });

  it('does not wait for a server that stalls: what comes due meanwhile has waited since', async () => {
    const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
    const waiting: Socket[] = [];
    let asked = 0;
    let stalled = false;
    const { peer, close } = await serverOf((socket) => {
      // One second in, for 400 ms.
      if (++asked === drive.rate) {
        stalled = true;
        setTimeout(() => {
          stalled = false;
          for (const each of waiting) each.write(answer);
        }, 400);
      }
      if (stalled) waiting.push(socket);
      else socket.write(answer);
    });
    try {
      const result = await latency.run(peer, 1.5, drive);
      expect(result.errors).toBe(0);
      // Half of what comes due within the 400 ms waits for over 200 ms; asking on only when answered would send 64.
      expect(result.latency?.p99).toBeGreaterThan(200);
      expect(result.units).toBeGreaterThanOrEqual(0.9 * 200 * 2);
    } finally {
      close();
    }
  });
});

describe('the parser of answers', () => {
  const head = 'HTTP/1.1 200 OK\r\nX-Note: 1\r\n';
  const answers: [string, string][] = [
    ['a length', `${head}content-length: 5\r\n\r\nhello`],
    ['a length of zero', `${head}Content-Length: 0\r\n\r\n`],
    [
      'chunks and a trailer',
      `${head}Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\nA\r\n0\r\n\r\n56789\r\n0\r\nT: 1\r\n\r\n`,
    ],
    ['no content', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['an interim answer before', `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${head}Content-Length: 2\r\n\r\nok`],
  ];

  it.each(answers)('finds the end of an answer with %s, however it is cut', (_what, text) => {
    const bytes = Buffer.from(text, 'latin1');
    const status = text.startsWith('HTTP/1.1 204') ? 204 : 200;
    for (let size = 1; size <= bytes.length; size++) {
      const parser = new AnswerParser();
      const results: number[] = [];
      // Twice: nothing of an answer is left over for the next.
      for (const all of [bytes, bytes]) {
        for (let at = 0; at < all.length; at += size) results.push(parser.feed(all.subarray(at, at + size)));
        expect(results.pop()).toBe(status);
      }
      expect(results.every((result) => result === 0)).toBe(true);
    }
  });

  it('takes no answer for two', () => {
    const text = `${head}Content-Length: 2\r\n\r\nokHTTP/1.1 200`;
    expect(() => new AnswerParser().feed(Buffer.from(text))).toThrow('behind');
  });
});

describe('a server that does not come up', () => {
  it('is reported with what it said', async () => {
    const command = [process.execPath, '-e', 'console.error("no such option"); process.exitCode = 3'];
    await expect(children.serve(1, { place: 'proxy', command })).rejects.toThrow(/ended with 3.*no such option/);
  });
});

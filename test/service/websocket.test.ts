import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type RawData, WebSocket } from 'ws';
import type { RunningService } from '../../src/service/server.ts';
import { call, idOf, OTHER, readUntil, signedHeaders, start, USER } from './client.ts';

let service: RunningService;
let path: string;
beforeEach(async () => {
  service = await start();
  onTestFinished(() => service.close());
  const id = idOf(await call(service, 'POST', '/v2/kernel/create', { body: { lang: 'r' } }));
  path = `/v2/stream/kernel/${id}/pty`;
});

function open(as = USER, target = path): WebSocket {
  const socket = new WebSocket(`ws://127.0.0.1:${service.port}${target}`, {
    headers: signedHeaders('GET', target, `127.0.0.1:${service.port}`, { as }),
  });
  onTestFinished(() => socket.terminate());
  return socket;
}

async function connected(): Promise<WebSocket> {
  const socket = open();
  await once(socket, 'open');
  return socket;
}

describe('a WebSocket client', () => {
  it.each([
    ['text', 'äöü 한글'],
    ['an empty text', ''],
    ['125 bytes', 'x'.repeat(125)],
    ['126 bytes', 'x'.repeat(126)],
    ['65535 bytes', 'x'.repeat(65_535)],
    ['65536 bytes', 'x'.repeat(65_536)],
    ['1 MiB', 'x'.repeat(1024 * 1024)],
  ])('hears its own message again: %s', async (_what, text) => {
    const socket = await connected();
    socket.send(text);
    const [data, isBinary] = (await once(socket, 'message')) as [RawData, boolean];
    expect([data.toString() === text, isBinary]).toEqual([true, false]);
  });

  it('hears binary as binary', async () => {
    const socket = await connected();
    socket.send(Buffer.from([0, 255, 128]));
    expect(await once(socket, 'message')).toEqual([Buffer.from([0, 255, 128]), true]);
  });

  it('hears fragments as one message, a ping between them answered at once', async () => {
    const socket = await connected();
    socket.send('one ', { fin: false });
    socket.ping('now');
    socket.send('message', { fin: true });
    const message = once(socket, 'message');
    expect(String((await once(socket, 'pong'))[0])).toBe('now');
    expect(String((await message)[0])).toBe('one message');
  });

  it.each([1000, 1001, 3000, 4999])('is closed with the code it closed with: %i', async (code) => {
    const socket = await connected();
    socket.close(code, 'bye');
    expect((await once(socket, 'close'))[0]).toBe(code);
  });

  it('is closed without a code when it gave none', async () => {
    const socket = await connected();
    socket.close();
    expect((await once(socket, 'close'))[0]).toBe(1005);
  });

  it('is told 1009 when its message is past 1 MiB, in one frame or in many', async () => {
    for (const parts of [1, 9]) {
      const socket = await connected();
      const part = Buffer.alloc(Math.ceil((1024 * 1024 + 1) / parts));
      for (let index = 1; index <= parts; index++) socket.send(part, { fin: index === parts });
      expect((await once(socket, 'close'))[0]).toBe(1009);
    }
  });

  it('is told 1001 when the kernel ends', async () => {
    const socket = await connected();
    const closed = once(socket, 'close');
    await call(service, 'DELETE', path.replace('/stream', '').replace('/pty', ''));
    expect((await closed)[0]).toBe(1001);
  });

  it('is told 1001 when the Service closes', async () => {
    const socket = await connected();
    const closed = once(socket, 'close');
    await service.close();
    expect((await closed)[0]).toBe(1001);
  });

  it('carries many messages at once in order', async () => {
    const socket = await connected();
    const heard: string[] = [];
    const last = new Promise<void>((resolve) => {
      socket.on('message', (data) => {
        heard.push(String(data).slice(0, 8));
        if (heard.length === 500) resolve();
      });
    });
    const sent = Array.from({ length: 500 }, (_, index) => String(index).padStart(8, '0'));
    for (const text of sent) socket.send(text + 'x'.repeat(10_000));
    await last;
    expect(heard).toEqual(sent);
  });
});

describe('a refused upgrade', () => {
  const refusal = async (socket: WebSocket) => {
    socket.on('error', () => undefined);
    const [, response] = (await once(socket, 'unexpected-response')) as [
      unknown,
      { statusCode: number; headers: object },
    ];
    return response;
  };

  it('is a problem with the rate headers', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${service.port}${path}`);
    expect(await refusal(socket)).toMatchObject({
      statusCode: 401,
      headers: { 'content-type': 'application/problem+json', 'x-ratelimit-limit': '30000' },
    });
  });

  it('is 404 for somebody else’s kernel and for any other path', async () => {
    expect(await refusal(open(OTHER))).toMatchObject({ statusCode: 404 });
    expect(await refusal(open(USER, '/v2/kernel'))).toMatchObject({ statusCode: 404 });
  });

  it('is 426 for a plain request', async () => {
    const reply = await call(service, 'GET', path);
    expect([reply.status, reply.headers['sec-websocket-version'], reply.headers.upgrade]).toEqual([
      426,
      '13',
      'websocket',
    ]);
  });
});

/** A handshake by hand; `changes` replace header lines. */
function handshake(changes: Record<string, string> = {}, method = 'GET'): string {
  const headers = {
    ...signedHeaders(method, path, 'service.example'),
    Connection: 'keep-alive, Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...changes,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

function raw(bytes: Buffer | string): Socket {
  const socket = connect(service.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write(bytes);
  return socket;
}

describe('the handshake', () => {
  it('answers the example of RFC 6455 §1.3', async () => {
    const reply = await readUntil(raw(handshake()), (bytes) => bytes.includes('\r\n\r\n'));
    expect(reply.toString()).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
    expect(reply.toString()).toContain('Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n');
    expect(reply.toString()).toContain('X-RateLimit-Remaining: 29998\r\n');
  });

  it.each([
    ['an old version', { 'Sec-WebSocket-Version': '8' }, 'GET', 426],
    ['a short key', { 'Sec-WebSocket-Key': 'c2hvcnQ=' }, 'GET', 400],
    ['no key', { 'Sec-WebSocket-Key': '' }, 'GET', 400],
    ['another method', {}, 'POST', 400],
    ['a body', { 'Content-Length': '3' }, 'GET', 400],
  ])('is refused with %s', async (_what, changes, method, status) => {
    const reply = await readUntil(raw(handshake(changes, method)), (bytes) => bytes.includes('}'));
    expect(reply.toString()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(reply.toString()).toContain('X-RateLimit-Remaining:');
  });
});

const MASK = [1, 2, 3, 4];
/** A client's frame of less than 126 bytes, masked. */
function masked(first: number, payload: Buffer | string): Buffer {
  const bytes = Buffer.from(payload).map((byte, index) => byte ^ (MASK[index & 3] ?? 0));
  return Buffer.concat([Buffer.from([first, 0x80 | bytes.length, ...MASK]), bytes]);
}

/** What the Service sends behind its handshake, until it closes the connection. */
async function answerTo(...frames: Buffer[]): Promise<Buffer> {
  const socket = raw(Buffer.concat([Buffer.from(handshake()), ...frames]));
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'end');
  const bytes = Buffer.concat(chunks);
  return bytes.subarray(bytes.indexOf('\r\n\r\n') + 4);
}

const closeCodeOf = (bytes: Buffer) => (bytes[0] === 0x88 ? bytes.readUInt16BE(2) : undefined);
const closing = (code: number, reason: Buffer | string = '') =>
  Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason)]);

describe('frames that break the protocol', () => {
  const long = Buffer.alloc(10);
  long.writeUInt16BE(0x82ff, 0);
  long.writeBigUInt64BE(1n << 63n, 2);

  it.each([
    // Without the mask, a page could write bytes onto the wire that an intermediary takes for a request of its own (§10.3).
    ['a frame that is not masked', Buffer.from([0x81, 0x01, 0x61]), 1002],
    ['a reserved bit', masked(0xc1, 'a'), 1002],
    ['an unknown data opcode', masked(0x83, 'a'), 1002],
    ['an unknown control opcode', masked(0x8b, 'a'), 1002],
    ['a fragmented ping', masked(0x09, 'a'), 1002],
    ['a ping of 126 bytes', Buffer.from([0x89, 0xfe, 0, 126, ...MASK]), 1002],
    ['a continuation of nothing', masked(0x80, 'a'), 1002],
    ['a new message inside another', Buffer.concat([masked(0x01, 'a'), masked(0x81, 'b')]), 1002],
    ['text that is not UTF-8', masked(0x81, Buffer.from([0xc3, 0x28])), 1007],
    ['a message of 2^63 bytes', Buffer.concat([long, Buffer.from(MASK)]), 1009],
    ['a close of one byte', masked(0x88, 'a'), 1002],
    ['a close code that is never sent', masked(0x88, closing(1005)), 1002],
    ['a close code nobody assigned', masked(0x88, closing(2999)), 1002],
    ['a close reason that is not UTF-8', masked(0x88, closing(1000, Buffer.from([0xff]))), 1007],
  ])('%s ends the connection with its code', async (_what, frames, code) => {
    expect(closeCodeOf(await answerTo(frames))).toBe(code);
  });

  it('come after what was right before them', async () => {
    const bytes = await answerTo(masked(0x81, 'ok'), Buffer.from([0x81, 0x01, 0x61]));
    expect(bytes.subarray(0, 4)).toEqual(Buffer.from([0x81, 2, 0x6f, 0x6b]));
    expect(closeCodeOf(bytes.subarray(4))).toBe(1002);
  });

  it('may be cut anywhere: the frames of byte after byte are read like whole ones', async () => {
    const socket = raw(handshake());
    await readUntil(socket, (bytes) => bytes.includes('\r\n\r\n'));
    socket.setNoDelay(true);
    for (const byte of Buffer.concat([masked(0x01, 'he'), masked(0x00, ''), masked(0x80, 'y')])) {
      await new Promise((resolve) => socket.write(Buffer.from([byte]), resolve));
    }
    expect(await readUntil(socket, (bytes) => bytes.length >= 5)).toEqual(Buffer.from([0x81, 3, 0x68, 0x65, 0x79]));
  });
});

import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { ConnectionPool } from '../../src/http1/pool.ts';
import { giveReadBuffer, takeReadBuffer } from '../../src/http1/read-buffers.ts';
import { type MisbehavingUpstream, startMisbehavingUpstream, targetOf } from '../kit/misbehaving-upstream.ts';
import { Clock, Hearing, IDENTITY, poolTo, requestOf } from './exchanging.ts';

/*
 * All connections read into one buffer, and large streams into buffers that go round. A byte that is looked at after its
 * buffer was read into again is another browser's. So here every byte says whose it is, and is looked at as late as possible.
 */

let upstream: MisbehavingUpstream;
let pool: ConnectionPool;

/** The same numbers for the same seed. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** The body of response `id`: every four bytes are its number and their own position, mixed. */
function bodyOf(id: number, length: number): Buffer {
  const bytes = Buffer.alloc(Math.ceil(length / 4) * 4);
  for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE((Math.imul(id + 1, 0x9e3779b1) ^ at) >>> 0, at);
  return bytes.subarray(0, length);
}

/** Answers `/id/length/framing` in pieces of random size, from one turn of the loop to the next. */
function respond(socket: Socket, head: string): void {
  const [, id = '', length = '', framing = ''] = targetOf(head).split('/');
  const random = numbers(Number(id) + 7);
  const body = bodyOf(Number(id), Number(length));
  const wire: Buffer[] = [];
  const framings: Record<string, string> = {
    length: `Content-Length: ${length}\r\n`,
    chunked: 'Transfer-Encoding: chunked\r\n',
    close: '',
  };
  wire.push(Buffer.from(`HTTP/1.1 200 OK\r\n${framings[framing]}\r\n`));
  if (framing !== 'chunked') {
    wire.push(body);
  } else {
    for (let at = 0; at < body.length; ) {
      const piece = body.subarray(at, at + 1 + Math.floor(random() ** 3 * 100_000));
      wire.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
      at += piece.length;
    }
    wire.push(Buffer.from('0\r\n\r\n'));
  }
  const bytes = Buffer.concat(wire);
  let at = 0;
  const more = () => {
    if (socket.destroyed) return;
    const piece = bytes.subarray(at, at + 1 + Math.floor(random() ** 2 * 400_000));
    at += piece.length;
    if (at < bytes.length) socket.write(piece, () => setImmediate(more));
    else if (framing === 'close') socket.end(piece);
    else socket.write(piece);
  };
  more();
}

/** Keeps what it is given as a slow client's queue would, looks at it late, and pauses at random. */
class Slow extends Hearing {
  readonly digest = createHash('sha256');
  length = 0;
  readonly #random: () => number;
  readonly #queue: Buffer[] = [];
  #pending = 0;
  /** As the gateway does it: the first chunk is held, within its read, until it is known whether there is more. */
  #held: Buffer | undefined;

  constructor(seed: number) {
    super();
    this.#random = numbers(seed);
  }

  override onData(chunk: Buffer): void {
    if (this.length === 0 && this.#held === undefined && this.#queue.length === 0 && this.#pending === 0) {
      this.#held = chunk;
      return;
    }
    this.#flush();
    this.#keep(chunk);
  }

  override onPause(): void {
    this.#flush();
  }

  override onEnd(): void {
    if (this.#held !== undefined) this.#look(Buffer.from(this.#held));
    const finish = () => {
      if (this.#pending > 0) setImmediate(finish);
      else super.onEnd();
    };
    finish();
  }

  #flush(): void {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) this.#keep(held);
  }

  #look(bytes: Buffer): void {
    this.digest.update(bytes);
    this.length += bytes.length;
  }

  #keep(chunk: Buffer): void {
    const { exchange } = this;
    if (exchange === undefined) throw new Error('data before the start');
    const kept = exchange.keep(chunk);
    this.#pending++;
    this.#queue.push(kept);
    const isSlow = this.#random() < 0.3;
    if (isSlow) exchange.pause();
    let turns = Math.floor(this.#random() * 12);
    const look = () => {
      if (turns-- > 0) {
        setImmediate(look);
        return;
      }
      const first = this.#queue.shift() as Buffer;
      this.#look(first);
      exchange.release(first);
      this.#pending--;
      if (isSlow) exchange.resume(this);
    };
    setImmediate(look);
  }
}

describe.each(['TCP', 'TLS'] as const)('bytes read over %s', (transport) => {
  afterEach(async () => {
    pool.close();
    await upstream.close();
  });

  it('are those of the response they are handed over with, to the last of them', async () => {
    upstream = await startMisbehavingUpstream({ onRequest: respond }, transport === 'TLS' ? IDENTITY : undefined);
    pool = poolTo(upstream, new Clock(), 24);
    const random = numbers(2026);
    const requests = Array.from({ length: 600 }, (_, id) => {
      const length = Math.floor(random() ** 6 * 3_000_000);
      const framing = ['length', 'chunked', 'length', 'chunked', 'close'][id % 5];
      const slow = new Slow(id);
      pool.start(requestOf(`/${id}/${length}/${framing}`), slow);
      return { id, length, slow };
    });
    for (const { id, length, slow } of requests) {
      await slow.over;
      const expected = createHash('sha256').update(bodyOf(id, length)).digest('hex');
      expect([id, slow.outcome, slow.length, slow.digest.digest('hex')]).toEqual([id, 'ended', length, expected]);
    }
    expect(upstream.connections).toBeGreaterThan(24);
  });
});

describe('a large read buffer', () => {
  it('is never with two who read at a time', () => {
    const random = numbers(1);
    const out = new Set<ArrayBufferLike>();
    for (let i = 0; i < 5000; i++) {
      if (out.size < 80 && random() < 0.5) {
        const { buffer } = takeReadBuffer();
        expect(out.has(buffer)).toBe(false);
        out.add(buffer);
      } else {
        const [first] = out;
        if (first === undefined) continue;
        out.delete(first);
        giveReadBuffer(first);
      }
    }
  });
});

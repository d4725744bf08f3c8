import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type TLSSocket } from 'node:tls';

const CA = readFileSync(new URL('tls/loopback.pem', import.meta.url));

/** RFC 9113 §6. */
export const FRAME = { DATA: 0, HEADERS: 1, RST_STREAM: 3, SETTINGS: 4, PING: 6, GOAWAY: 7, CONTINUATION: 9 } as const;
/** RFC 9113 §7. */
export const ERROR = { NO_ERROR: 0, PROTOCOL: 1, INTERNAL: 2, REFUSED_STREAM: 7, CANCEL: 8 } as const;
export const SETTING = { MAX_CONCURRENT_STREAMS: 3, INITIAL_WINDOW_SIZE: 4, ENABLE_CONNECT_PROTOCOL: 8 } as const;
const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export type Fields = readonly (readonly [name: string, value: string])[];

/** A client of HTTP/2 that sends exactly the frames it is told to, however wrong, and keeps what came back. */
export class FrameClient {
  readonly socket: TLSSocket;
  readonly frames: Frame[] = [];
  #pending = Buffer.alloc(0);
  #closed = false;
  #waiting: (() => void)[] = [];

  private constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#closed = true;
      this.#wake();
    });
  }

  /** Shakes hands and sends the preface with these settings. */
  static async connect(port: number, settings: readonly (readonly [id: number, value: number])[] = []) {
    const socket = connect({ port, host: '127.0.0.1', ca: CA, ALPNProtocols: ['h2'] });
    await once(socket, 'secureConnect');
    const client = new FrameClient(socket);
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    return client.settings(settings);
  }

  frame(type: number, flags: number, stream: number, payload: Buffer): this {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head.writeUInt8(type, 3);
    head.writeUInt8(flags, 4);
    head.writeUInt32BE(stream, 5);
    this.socket.write(Buffer.concat([head, payload]));
    return this;
  }

  headers(stream: number, fields: Fields, { endStream = true, endHeaders = true } = {}): this {
    const flags = (endStream ? END_STREAM : 0) | (endHeaders ? END_HEADERS : 0);
    return this.frame(FRAME.HEADERS, flags, stream, headerBlock(fields));
  }

  continuation(stream: number, fields: Fields, endHeaders: boolean): this {
    return this.frame(FRAME.CONTINUATION, endHeaders ? END_HEADERS : 0, stream, headerBlock(fields));
  }

  data(stream: number, text: string, endStream = true): this {
    return this.frame(FRAME.DATA, endStream ? END_STREAM : 0, stream, Buffer.from(text));
  }

  reset(stream: number, code: number): this {
    return this.frame(FRAME.RST_STREAM, 0, stream, uint32(code));
  }

  settings(settings: readonly (readonly [id: number, value: number])[]): this {
    const entries = settings.map(([id, value]) => Buffer.concat([Buffer.from([0, id]), uint32(value)]));
    return this.frame(FRAME.SETTINGS, 0, 0, Buffer.concat(entries));
  }

  ping(): this {
    return this.frame(FRAME.PING, 0, 0, Buffer.alloc(8));
  }

  /** The first frame, past or to come, of the type and stream; undefined when the connection ends without one. */
  async next(type: number, stream: number): Promise<Frame | undefined> {
    for (;;) {
      const found = this.frames.find((frame) => frame.type === type && frame.stream === stream);
      if (found !== undefined || this.#closed) return found;
      await this.#more();
    }
  }

  /** The code a stream was reset with, or its whole connection was given up with. */
  async brokenWith(stream: number): Promise<number | undefined> {
    const reset = await this.next(FRAME.RST_STREAM, stream);
    if (reset !== undefined) return reset.payload.readUInt32BE(0);
    return (await this.next(FRAME.GOAWAY, 0))?.payload.readUInt32BE(4);
  }

  /** The body of a stream that ended, as text. Throws when it was reset before. */
  async body(stream: number): Promise<string> {
    const own = () => this.frames.filter((frame) => frame.stream === stream);
    while (!own().some(endsStream)) {
      if (this.#closed || own().some(({ type }) => type === FRAME.RST_STREAM)) throw new Error('the stream broke');
      await this.#more();
    }
    return own()
      .filter(({ type }) => type === FRAME.DATA)
      .map(({ payload }) => payload.toString())
      .join('');
  }

  /** Whether the gateway has said that a stream is whole. */
  hasEnded(stream: number): boolean {
    return this.frames.some((frame) => frame.stream === stream && endsStream(frame));
  }

  /** The value the gateway has announced for a setting. */
  async announced(id: number): Promise<number | undefined> {
    const { payload } = (await this.next(FRAME.SETTINGS, 0)) ?? { payload: Buffer.alloc(0) };
    for (let i = 0; i + 6 <= payload.length; i += 6)
      if (payload.readUInt16BE(i) === id) return payload.readUInt32BE(i + 2);
    return undefined;
  }

  async closed(): Promise<void> {
    while (!this.#closed) await this.#more();
  }

  destroy(): void {
    this.socket.destroy();
  }

  #read(bytes: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, bytes]);
    for (;;) {
      const end = 9 + (this.#pending.length < 9 ? Number.POSITIVE_INFINITY : this.#pending.readUIntBE(0, 3));
      if (this.#pending.length < end) break;
      const frame = {
        type: this.#pending.readUInt8(3),
        flags: this.#pending.readUInt8(4),
        stream: this.#pending.readUInt32BE(5),
        payload: this.#pending.subarray(9, end),
      };
      this.#pending = this.#pending.subarray(end);
      this.frames.push(frame);
      if (frame.type === FRAME.SETTINGS && frame.flags !== ACK) this.frame(FRAME.SETTINGS, ACK, 0, Buffer.alloc(0));
    }
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}

function endsStream({ type, flags }: Frame): boolean {
  return (type === FRAME.DATA || type === FRAME.HEADERS) && (flags & END_STREAM) !== 0;
}

/** Every field literal and never indexed (RFC 7541 §6.2.2). */
export function headerBlock(fields: Fields): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]));
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  const length = [Math.min(bytes.length, 127)];
  if (bytes.length >= 127) {
    let rest = bytes.length - 127;
    for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) + 128);
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

import { isUtf8 } from 'node:buffer';

const TEXT = 0x1;
const BINARY = 0x2;
const CONTINUATION = 0x0;
const CLOSE = 0x8;
const PING = 0x9;
const PONG = 0xa;

export const OPCODE = { text: TEXT, binary: BINARY, close: CLOSE, ping: PING, pong: PONG } as const;

/** What a peer sent, fragments joined and payloads unmasked. A close without a code has the code 1005. */
export type Incoming =
  | { readonly kind: 'message'; readonly opcode: number; readonly data: Buffer }
  | { readonly kind: 'ping' | 'pong'; readonly data: Buffer }
  | { readonly kind: 'close'; readonly code: number };

/** The peer broke the protocol; `code` is the close code that tells it so (RFC 6455 §7.4.1). */
export class WebSocketFault extends Error {
  override readonly name = 'WebSocketFault';
  readonly code: 1002 | 1007 | 1009;

  constructor(code: 1002 | 1007 | 1009, reason: string) {
    super(reason);
    this.code = code;
  }
}

interface FrameHead {
  readonly fin: boolean;
  readonly opcode: number;
  readonly mask: Buffer;
  readonly length: number;
}

/** The server's side of RFC 6455 §5: reads frames from chunks of any size. */
export class FrameReader {
  readonly #maxMessage: number;
  #chunks: Buffer[] = [];
  #buffered = 0;
  /** Bytes without which there is nothing to do: small chunks are not joined before they are there. */
  #needed = 2;
  #head: FrameHead | undefined;
  /** The message so far; its opcode is undefined between messages. */
  #opcode: number | undefined;
  #message = Buffer.alloc(0);
  #messageLength = 0;

  /** `maxMessage` is in bytes. */
  constructor(maxMessage: number) {
    this.#maxMessage = maxMessage;
  }

  /** Yields what the chunk completes. Throws WebSocketFault; the reader is of no use after that. */
  *push(chunk: Buffer): Generator<Incoming> {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    while (this.#buffered >= this.#needed) {
      if (this.#head === undefined) this.#readHead();
      else {
        const incoming = this.#readPayload(this.#head);
        if (incoming !== undefined) yield incoming;
      }
    }
  }

  #readHead(): void {
    const bytes = this.#peek();
    const first = bytes.readUInt8(0);
    const second = bytes.readUInt8(1);
    const short = second & 0x7f;
    if ((first & 0x70) !== 0) throw new WebSocketFault(1002, 'reserved bits are set');
    if ((second & 0x80) === 0) throw new WebSocketFault(1002, 'frame is not masked');
    const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
    const size = 2 + lengthBytes + 4;
    if (bytes.length < size) {
      this.#needed = size;
      return;
    }
    const opcode = first & 0x0f;
    const fin = (first & 0x80) !== 0;
    const length =
      lengthBytes === 8 ? Number(bytes.readBigUInt64BE(2)) : lengthBytes === 2 ? bytes.readUInt16BE(2) : short;
    this.#checkHead(opcode, fin, length);
    this.#head = { fin, opcode, length, mask: Buffer.from(bytes.subarray(size - 4, size)) };
    this.#consume(size);
    this.#needed = length;
  }

  #checkHead(opcode: number, fin: boolean, length: number): void {
    if (opcode === CLOSE || opcode === PING || opcode === PONG) {
      if (!fin || length > 125) throw new WebSocketFault(1002, 'control frame is fragmented or too long');
      return;
    }
    if (opcode !== TEXT && opcode !== BINARY && opcode !== CONTINUATION)
      throw new WebSocketFault(1002, 'unknown opcode');
    if ((opcode === CONTINUATION) === (this.#opcode === undefined)) {
      throw new WebSocketFault(1002, 'fragments are out of order');
    }
    if (this.#messageLength + length > this.#maxMessage) throw new WebSocketFault(1009, 'message is too big');
  }

  #readPayload({ fin, opcode, length, mask }: FrameHead): Incoming | undefined {
    const payload = Buffer.from(this.#peek().subarray(0, length));
    for (let index = 0; index < length; index++) payload[index] = (payload[index] ?? 0) ^ (mask[index & 3] ?? 0);
    this.#consume(length);
    this.#head = undefined;
    this.#needed = 2;
    if (opcode === PING) return { kind: 'ping', data: payload };
    if (opcode === PONG) return { kind: 'pong', data: payload };
    if (opcode === CLOSE) return { kind: 'close', code: closeCode(payload) };
    return this.#addFragment(fin, opcode, payload);
  }

  #addFragment(fin: boolean, opcode: number, payload: Buffer): Incoming | undefined {
    const messageOpcode = this.#opcode ?? opcode;
    const length = this.#messageLength + payload.length;
    if (length > this.#message.length) {
      const grown = Buffer.alloc(Math.max(length, Math.min(this.#message.length * 2, this.#maxMessage)));
      this.#message.copy(grown, 0, 0, this.#messageLength);
      this.#message = grown;
    }
    payload.copy(this.#message, this.#messageLength);
    this.#messageLength = length;
    this.#opcode = messageOpcode;
    if (!fin) return undefined;

    const data = this.#message.subarray(0, length);
    this.#message = Buffer.alloc(0);
    this.#messageLength = 0;
    this.#opcode = undefined;
    if (messageOpcode === TEXT && !isUtf8(data)) throw new WebSocketFault(1007, 'text is not UTF-8');
    return { kind: 'message', opcode: messageOpcode, data };
  }

  #peek(): Buffer {
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] ?? Buffer.alloc(0);
  }

  #consume(length: number): void {
    this.#chunks = [this.#peek().subarray(length)];
    this.#buffered -= length;
  }
}

function closeCode(payload: Buffer): number {
  if (payload.length === 0) return 1005;
  const code = payload.length === 1 ? 0 : payload.readUInt16BE(0);
  const isSendable = (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
  if (!isSendable) throw new WebSocketFault(1002, 'close code is not valid');
  if (!isUtf8(payload.subarray(2))) throw new WebSocketFault(1007, 'close reason is not UTF-8');
  return code;
}

/** One whole, unmasked frame, as a server sends it. */
export function frame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head.writeUInt8(0x80 | opcode, 0);
  if (head.length === 2) head.writeUInt8(length, 1);
  else if (head.length === 4) {
    head.writeUInt8(126, 1);
    head.writeUInt16BE(length, 2);
  } else {
    head.writeUInt8(127, 1);
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  return Buffer.concat([head, payload]);
}

/** A close frame; the code 1005 stands for none and is never sent (RFC 6455 §7.4.1). */
export function closeFrame(code: number, reason = ''): Buffer {
  if (code === 1005) return frame(CLOSE, Buffer.alloc(0));
  const payload = Buffer.alloc(2 + Buffer.byteLength(reason));
  payload.writeUInt16BE(code, 0);
  payload.write(reason, 2);
  return frame(CLOSE, payload);
}

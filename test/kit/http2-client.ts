import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import type { Client, RawResponse, ResponseHead } from './raw-client.ts';
import { Response } from './raw-client.ts';

const CA = readFileSync(new URL('tls/loopback.pem', import.meta.url));

/**
 * A client of HTTP/2 that is written to as if it spoke HTTP/1.1: a request's bytes become a stream with the same head and
 * body, so that what is asserted of one version can be asserted of the other.
 */
export class Http2Client implements Client {
  readonly session: ClientHttp2Session;
  #stream: ClientHttp2Stream | undefined;
  #pending = Buffer.alloc(0);
  #body: BodyWriter | undefined;
  #heads: ResponseHead[] = [];
  #chunks: Buffer[] = [];
  #end: 'whole' | 'broken' | undefined;
  #wake: () => void = () => undefined;

  private constructor(session: ClientHttp2Session) {
    this.session = session;
    session.on('error', () => undefined);
    session.on('close', () => this.#over('broken'));
  }

  static async connect(port: number): Promise<Http2Client> {
    const session = connect(`https://127.0.0.1:${port}`, { ca: CA });
    await once(session, 'connect');
    return new Http2Client(session);
  }

  /** Its reading side: while it is paused the gateway finds the window closed. */
  get socket(): { pause(): unknown; resume(): unknown } {
    if (this.#stream === undefined) throw new Error('no request has been sent');
    return this.#stream;
  }

  send(...parts: (string | Buffer)[]): this {
    const bytes = parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part));
    this.#pending = Buffer.concat([this.#pending, ...bytes]);
    if (this.#body === undefined && !this.#begin()) return this;
    if (this.#body?.take(this.#pending) === 'whole') this.#body = undefined;
    this.#pending = Buffer.alloc(0);
    return this;
  }

  async response(): Promise<RawResponse | undefined> {
    const interim: number[] = [];
    for (;;) {
      const head = await this.head();
      if (head === undefined) return undefined;
      if (head.status < 200) interim.push(head.status);
      else return new Response(head, await this.#rest(), interim);
    }
  }

  async head(): Promise<ResponseHead | undefined> {
    while (this.#heads.length === 0) if (!(await this.#more())) return undefined;
    return this.#heads.shift();
  }

  /** What one DATA frame brought. */
  async chunk(): Promise<Buffer | undefined> {
    const bytes = await this.bytes();
    return bytes ?? (this.#end === 'whole' ? Buffer.alloc(0) : undefined);
  }

  async bytes(): Promise<Buffer | undefined> {
    while (this.#chunks.length === 0) if (!(await this.#more())) return undefined;
    return this.#chunks.shift();
  }

  /** When the stream is over, as a connection is in HTTP/1.1. */
  async closed(): Promise<Buffer> {
    return (await this.#rest()).body;
  }

  destroy(): void {
    this.session.destroy();
  }

  async #rest(): Promise<{ body: Buffer; complete: boolean }> {
    while (await this.#more());
    const body = Buffer.concat(this.#chunks);
    this.#chunks = [];
    return { body, complete: this.#end === 'whole' };
  }

  /** Half of a head is kept back: nothing of it could be sent. */
  #begin(): boolean {
    const end = this.#pending.indexOf('\r\n\r\n');
    if (end === -1) return false;
    const [requestLine = '', ...lines] = this.#pending.toString('latin1', 0, end).split('\r\n');
    const [method = '', target = ''] = requestLine.split(' ');
    const fields = lines.map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')];
    });
    const field = (name: string) => fields.find(([one]) => one === name)?.[1];
    const headers = [':method', method, ':scheme', 'https', ':authority', field('host') ?? '', ':path', target];
    for (const [name, value] of fields) {
      if (name !== 'host' && name !== 'transfer-encoding') headers.push(name, value);
    }
    const isChunked = field('transfer-encoding') === 'chunked';
    const length = Number(field('content-length') ?? 0);
    const stream = this.session.request(headers, { endStream: !isChunked && length === 0 });
    this.#listen(stream);
    this.#pending = this.#pending.subarray(end + 4);
    if (isChunked) this.#body = new ChunkedWriter(stream);
    else if (length > 0) this.#body = new SizedWriter(stream, length);
    return true;
  }

  #listen(stream: ClientHttp2Stream): void {
    this.#stream = stream;
    this.#heads = [];
    this.#chunks = [];
    this.#end = undefined;
    const isCurrent = () => this.#stream === stream;
    const onHead = (headers: { ':status'?: number }, _flags: number, raw?: string[]) => {
      const rawHeaders: [string, string][] = [];
      for (let i = 0; raw !== undefined && i + 1 < raw.length; i += 2) {
        if (!raw[i]?.startsWith(':')) rawHeaders.push([raw[i] as string, raw[i + 1] as string]);
      }
      this.#heads.push({ status: headers[':status'] ?? 0, rawHeaders });
      this.#wake();
    };
    stream.on('headers', onHead).on('response', onHead);
    stream.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#wake();
    });
    stream.on('end', () => {
      const isClean = !stream.aborted && stream.rstCode === constants.NGHTTP2_NO_ERROR;
      if (isCurrent()) this.#over(isClean ? 'whole' : 'broken');
    });
    stream.on('error', () => isCurrent() && this.#over('broken'));
    stream.on('close', () => isCurrent() && this.#over('broken'));
  }

  #over(how: 'whole' | 'broken'): void {
    this.#end ??= how;
    this.#wake();
  }

  async #more(): Promise<boolean> {
    if (this.#end !== undefined) return false;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    return true;
  }
}

interface BodyWriter {
  take(bytes: Buffer): 'whole' | 'more';
}

class SizedWriter implements BodyWriter {
  readonly #stream: ClientHttp2Stream;
  #left: number;

  constructor(stream: ClientHttp2Stream, length: number) {
    this.#stream = stream;
    this.#left = length;
  }

  take(bytes: Buffer): 'whole' | 'more' {
    this.#left -= bytes.length;
    if (this.#left > 0) {
      if (bytes.length > 0) this.#stream.write(bytes);
      return 'more';
    }
    this.#stream.end(bytes);
    return 'whole';
  }
}

/** Takes the chunks out of their framing, which HTTP/2 has no use for. */
class ChunkedWriter implements BodyWriter {
  readonly #stream: ClientHttp2Stream;
  #pending = Buffer.alloc(0);

  constructor(stream: ClientHttp2Stream) {
    this.#stream = stream;
  }

  take(bytes: Buffer): 'whole' | 'more' {
    this.#pending = Buffer.concat([this.#pending, bytes]);
    for (;;) {
      const line = this.#pending.indexOf('\r\n');
      const size = line === -1 ? Number.NaN : Number.parseInt(this.#pending.toString('latin1', 0, line), 16);
      if (!(this.#pending.length >= line + size + 4)) return 'more';
      if (size === 0) {
        this.#stream.end();
        return 'whole';
      }
      this.#stream.write(this.#pending.subarray(line + 2, line + 2 + size));
      this.#pending = this.#pending.subarray(line + size + 4);
    }
  }
}

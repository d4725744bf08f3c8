import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { ByteSource } from './byte-source.ts';

export interface RawResponse {
  readonly status: number;
  readonly rawHeaders: readonly (readonly [string, string])[];
  readonly body: Buffer;
  /** False when the connection ended before the body did. */
  readonly complete: boolean;
  /** Statuses of the 1xx answers that came before. */
  readonly interim: readonly number[];
  /** The header's values joined by `, `; undefined without one. */
  header(name: string): string | undefined;
  headers(name: string): string[];
  json(): unknown;
}

export interface ResponseHead {
  readonly status: number;
  readonly rawHeaders: [string, string][];
}

/** A connection of a front end, over any version of HTTP. What is sent are the bytes of HTTP/1.1. */
export interface Client {
  readonly socket: { pause(): unknown; resume(): unknown };
  send(...parts: (string | Buffer)[]): this;
  /** The next response; undefined when the connection ended without one. `method`: of the request, HEAD has no body. */
  response(method?: string): Promise<RawResponse | undefined>;
  /** Status and headers alone, so that the test can read the body itself. */
  head(): Promise<ResponseHead | undefined>;
  /** The next part of a body without a length; empty at its end, undefined when it broke. */
  chunk(): Promise<Buffer | undefined>;
  /** Whatever arrives next; undefined at the end. */
  bytes(): Promise<Buffer | undefined>;
  /** Resolves when the gateway is done with it, with the bytes that were not read before. */
  closed(): Promise<Buffer>;
  destroy(): void;
}

/** A client that sends exactly the bytes it is given and reports exactly what came back. */
export class RawClient implements Client {
  readonly socket: Socket;
  readonly #source: ByteSource;

  private constructor(socket: Socket) {
    this.socket = socket;
    this.#source = new ByteSource(socket);
  }

  static async connect(port: number, host = '127.0.0.1'): Promise<RawClient> {
    const socket = connect({ port, host, noDelay: true });
    await once(socket, 'connect');
    socket.on('error', () => {});
    return new RawClient(socket);
  }

  /** The same over TLS; as a client that knows nothing of ALPN unless `options` say otherwise. */
  static async overTls(port: number, options: ConnectionOptions): Promise<RawClient> {
    const socket = connectTls({ port, host: '127.0.0.1', ...options });
    await once(socket, 'secureConnect');
    socket.on('error', () => {});
    return new RawClient(socket);
  }

  send(...parts: (string | Buffer)[]): this {
    this.socket.write(
      Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part))),
    );
    return this;
  }

  async response(method = 'GET'): Promise<RawResponse | undefined> {
    const interim: number[] = [];
    for (;;) {
      const head = await this.head();
      if (head === undefined) return undefined;
      const bodiless = method === 'HEAD' || head.status === 204 || head.status === 304 || head.status === 101;
      if (head.status < 200 && head.status !== 101) {
        interim.push(head.status);
        continue;
      }
      return new Response(head, bodiless ? { body: Buffer.alloc(0), complete: true } : await this.#body(head), interim);
    }
  }

  async head(): Promise<ResponseHead | undefined> {
    const text = (await this.#source.until('\r\n\r\n'))?.toString('latin1');
    if (text === undefined) return undefined;
    const [statusLine = '', ...lines] = text.slice(0, -4).split('\r\n');
    const rawHeaders = lines.map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    });
    return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1]), rawHeaders };
  }

  async chunk(): Promise<Buffer | undefined> {
    const size = (await this.#source.until('\r\n'))?.toString('latin1');
    if (size === undefined) return undefined;
    return (await this.#source.exactly(Number.parseInt(size, 16) + 2))?.subarray(0, -2);
  }

  bytes(): Promise<Buffer | undefined> {
    return this.#source.some();
  }

  closed(): Promise<Buffer> {
    return this.#source.rest();
  }

  destroy(): void {
    this.socket.destroy();
  }

  async #body(head: { rawHeaders: [string, string][] }): Promise<{ body: Buffer; complete: boolean }> {
    const value = (name: string) => head.rawHeaders.find(([field]) => field.toLowerCase() === name)?.[1];
    if (value('transfer-encoding') === 'chunked') {
      const chunks: Buffer[] = [];
      for (;;) {
        const chunk = await this.chunk();
        if (chunk === undefined || chunk.length === 0)
          return { body: Buffer.concat(chunks), complete: chunk !== undefined };
        chunks.push(chunk);
      }
    }
    const length = value('content-length');
    if (length === undefined) return { body: await this.#source.rest(), complete: !this.#source.broken };
    const body = await this.#source.exactly(Number(length));
    return body === undefined ? { body: await this.#source.rest(), complete: false } : { body, complete: true };
  }
}

export class Response implements RawResponse {
  readonly status: number;
  readonly rawHeaders: [string, string][];
  readonly body: Buffer;
  readonly complete: boolean;
  readonly interim: readonly number[];

  constructor(head: ResponseHead, { body, complete }: { body: Buffer; complete: boolean }, interim: readonly number[]) {
    this.status = head.status;
    this.rawHeaders = head.rawHeaders;
    this.body = body;
    this.complete = complete;
    this.interim = interim;
  }

  header(name: string): string | undefined {
    const values = this.headers(name);
    return values.length === 0 ? undefined : values.join(', ');
  }

  headers(name: string): string[] {
    return this.rawHeaders.filter(([field]) => field.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
  }

  json(): unknown {
    return JSON.parse(this.body.toString('utf8'));
  }
}

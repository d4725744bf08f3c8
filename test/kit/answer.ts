import { once } from 'node:events';
import { IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { ByteSource } from './byte-source.ts';
import type { RequestHead } from './strict-http.ts';

/** Response headers in order; duplicates allowed. */
export type Pairs = readonly (readonly [string, string])[];

export const RATE_HEADERS: Pairs = [
  ['X-RateLimit-Limit', '30000'],
  ['X-RateLimit-Remaining', '29999'],
  ['X-RateLimit-Reset', '900'],
];

/** One answer of the strict upstream, well-formed or not: every byte is the test's choice. */
export class Answer {
  readonly #socket: Socket;
  readonly #source: ByteSource;
  readonly #head: RequestHead;
  readonly #date: Pairs;
  #begun = false;
  #last = false;

  /** `date`: what a Date header says, if there is to be one. */
  constructor(socket: Socket, source: ByteSource, head: RequestHead, date?: string) {
    this.#socket = socket;
    this.#source = source;
    this.#head = head;
    this.#date = date === undefined ? [] : [['Date', date]];
  }

  get begun(): boolean {
    return this.#begun;
  }

  /** The connection can carry no other request. */
  get isLast(): boolean {
    return this.#last;
  }

  json(status: number, value: unknown, headers: Pairs = []): Promise<void> {
    const type = status < 400 ? 'application/json' : 'application/problem+json';
    return this.send(
      status,
      [['Content-Type', type], ...this.#date, ...RATE_HEADERS, ...headers],
      JSON.stringify(value),
    );
  }

  /** A well-formed answer with a Content-Length; to HEAD, 204 and 304 without a body. */
  async send(status: number, headers: Pairs = [], body: string | Buffer = ''): Promise<void> {
    const bytes = Buffer.from(body);
    const bodiless = status === 204 || status === 304 || this.#head.method === 'HEAD';
    const length: Pairs = status === 204 || status === 304 ? [] : [['Content-Length', String(bytes.length)]];
    await this.raw(Buffer.concat([headBytes(status, [...headers, ...length]), bodiless ? Buffer.alloc(0) : bytes]));
  }

  /** The bytes as they are, text as latin1; resolves when they are flushed. */
  async raw(bytes: string | Buffer): Promise<void> {
    this.#begun = true;
    if (this.#socket.destroyed) return;
    await new Promise<void>((resolve) =>
      this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes, () => resolve()),
    );
  }

  /** A head, after which the test writes what it wants with `raw`. */
  start(status: number, headers: Pairs = []): Promise<void> {
    return this.raw(headBytes(status, headers));
  }

  /** A chunked answer, chunk by chunk under the test's control. */
  async chunked(status = 200, headers: Pairs = []) {
    await this.start(status, [...headers, ['Transfer-Encoding', 'chunked']]);
    return {
      chunk: (text: string | Buffer) => {
        const bytes = Buffer.from(text);
        return this.raw(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]));
      },
      end: () => this.raw('0\r\n\r\n'),
    };
  }

  /** Leaves the request without another byte until the gateway gives up on the connection. */
  async hang(): Promise<void> {
    this.#begun = true;
    this.#last = true;
    await this.gone();
  }

  /** When the gateway has closed this connection. */
  async gone(): Promise<void> {
    await this.#source.rest();
    this.#last = true;
    this.#socket.end();
  }

  /** Closes the connection, in order. */
  finish(): void {
    this.#begun = true;
    this.#last = true;
    this.#socket.end();
  }

  /** Breaks the connection with a TCP reset. */
  reset(): void {
    this.#begun = true;
    this.#last = true;
    this.#socket.resetAndDestroy();
  }

  /** Accepts the upgrade; `headers` are added to the 101. */
  async webSocket(options: { protocols?: readonly string[]; headers?: Pairs } = {}): Promise<WebSocket> {
    this.#begun = true;
    this.#last = true;
    const request = new IncomingMessage(this.#socket);
    request.method = this.#head.method;
    request.url = this.#head.target;
    for (const [name, value] of this.#head.rawHeaders) request.headers[name.toLowerCase()] = value.trim();
    const server = new WebSocketServer({
      noServer: true,
      maxPayload: 64 << 20,
      handleProtocols: (offered) => options.protocols?.find((protocol) => offered.has(protocol)) ?? false,
    });
    server.on('headers', (lines) => lines.push(...(options.headers ?? []).map(([name, value]) => `${name}: ${value}`)));
    const accepted = once(server, 'connection');
    server.handleUpgrade(request, this.#socket, this.#source.detach(), (socket) => server.emit('connection', socket));
    const [socket] = (await accepted) as [WebSocket];
    return socket;
  }
}

function headBytes(status: number, headers: Pairs): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`, 'latin1');
}

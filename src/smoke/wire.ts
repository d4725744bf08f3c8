import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** Where connections go. */
export interface Address {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

export interface ReplyHead {
  readonly status: number;
  /** As they came: spelling, order and duplicates kept. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Status line and headers, byte for byte, with the empty line behind them. */
  readonly raw: Buffer;
}

/** One answer as it came over the wire. */
export interface Reply extends ReplyHead {
  /** What the body's framing encloses: of a chunked body, the chunks' data. */
  readonly body: Buffer;
  /** False when the connection ended before the body's framing did. */
  readonly complete: boolean;
}

/** Nothing that is an answer came: no connection, a connection closed without a word, bytes that are no HTTP, silence. */
export class NoReply extends Error {
  override readonly name = 'NoReply';
  /** What had been sent on the connection. */
  readonly sent: Buffer;

  constructor(message: string, sent: Buffer = Buffer.alloc(0)) {
    super(message);
    this.sent = sent;
  }
}

/** An answer, and every wait for bytes, may take this long, in milliseconds. */
const PATIENCE = 10_000;
const MAX_HEAD = 64 * 1024;

/** A connection that sends the bytes it is given and hands out the bytes that come, untouched by any HTTP library. */
export class Wire {
  readonly #socket: Socket;
  #sent: Buffer = Buffer.alloc(0);
  #pending: Buffer = Buffer.alloc(0);
  #ended = false;
  #failed: Error | undefined;
  #wake: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    const end = () => {
      this.#ended = true;
      this.#wake();
    };
    socket.on('data', (chunk: Buffer) => {
      this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
      this.#wake();
    });
    socket.on('end', end).on('close', end);
    socket.on('error', (error) => {
      this.#failed = error;
      end();
    });
  }

  /** Rejects with `NoReply` when there is nobody, or nobody to be trusted (TLS), at the address. */
  static async open({ host, port, tls }: Address): Promise<Wire> {
    const socket = tls
      ? connectTls({ host, port, servername: /^[\d.]+$|:/.test(host) ? '' : host, ALPNProtocols: ['http/1.1'] })
      : connectTcp({ host, port, noDelay: true });
    await new Promise<void>((resolve, reject) => {
      const fail = (reason: string) => {
        socket.destroy();
        reject(new NoReply(`no connection to ${host} port ${port}: ${reason}`));
      };
      const timer = setTimeout(() => fail(`none within ${PATIENCE / 1000} s`), PATIENCE);
      socket.once('error', (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        fail(error.code ?? error.message);
      });
      socket.once(tls ? 'secureConnect' : 'connect', () => {
        clearTimeout(timer);
        resolve();
      });
    });
    socket.removeAllListeners('error');
    return new Wire(socket);
  }

  send(bytes: Buffer): void {
    this.#sent = Buffer.concat([this.#sent, bytes]);
    this.#socket.write(bytes);
  }

  /** The head of the next answer that is no 1xx, unless it is 101. */
  async head(): Promise<ReplyHead> {
    for (;;) {
      const raw = await this.#until('\r\n\r\n');
      const [line = '', ...lines] = raw.toString('latin1').trimEnd().split('\r\n');
      const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(line)?.[1]);
      if (Number.isNaN(status)) throw this.#noReply(`what came is no HTTP/1.1 answer: ${line.slice(0, 80)}`);
      if (status < 200 && status !== 101) continue;
      const headers = lines.map((field): [string, string] => {
        const colon = field.indexOf(':');
        return [field.slice(0, colon), field.slice(colon + 1).trim()];
      });
      return { status, headers, raw };
    }
  }

  /** A whole answer. `method` is that of the request: an answer to HEAD has no body whatever its headers say. */
  async reply(method: string): Promise<Reply> {
    const head = await this.head();
    const isBodiless = method === 'HEAD' || head.status === 101 || head.status === 204 || head.status === 304;
    if (isBodiless) return { ...head, body: Buffer.alloc(0), complete: true };
    return { ...head, ...(await this.#body(head)) };
  }

  /** Whether the peer ends the connection within so many milliseconds. What it says before does not matter. */
  ended(within: number): Promise<boolean> {
    if (this.#ended) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), within);
      this.#socket.once('close', () => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }

  /** Waits until what has come contains the text. Rejects with `NoReply` at the end of the connection. */
  async text(wanted: string): Promise<void> {
    while (!this.#pending.includes(wanted)) {
      if (!(await this.#more())) throw this.#noReply(`the connection ended without ${wanted}`);
    }
  }

  /** What has been sent on this connection. */
  get sent(): Buffer {
    return this.#sent;
  }

  close(): void {
    this.#socket.destroy();
  }

  async #body(head: ReplyHead): Promise<{ body: Buffer; complete: boolean }> {
    if (valuesOf(head, 'transfer-encoding').join().toLowerCase() === 'chunked') return this.#chunks();
    const length = valuesOf(head, 'content-length')[0];
    if (length === undefined) {
      while (await this.#more());
      return { body: this.#take(this.#pending.length), complete: this.#failed === undefined };
    }
    const count = Number(length);
    while (this.#pending.length < count && (await this.#more()));
    const complete = this.#pending.length >= count;
    return { body: this.#take(Math.min(count, this.#pending.length)), complete };
  }

  async #chunks(): Promise<{ body: Buffer; complete: boolean }> {
    const chunks: Buffer[] = [];
    for (;;) {
      let at = this.#pending.indexOf('\r\n');
      while (at === -1 && (await this.#more())) at = this.#pending.indexOf('\r\n');
      const size = at === -1 ? Number.NaN : Number.parseInt(this.#pending.subarray(0, at).toString('latin1'), 16);
      while (this.#pending.length < at + size + 4 && (await this.#more()));
      if (!(this.#pending.length >= at + size + 4)) {
        if (at !== -1) chunks.push(this.#pending.subarray(at + 2));
        return { body: Buffer.concat(chunks), complete: false };
      }
      const chunk = this.#take(at + size + 4).subarray(at + 2, -2);
      if (size === 0) return { body: Buffer.concat(chunks), complete: true };
      chunks.push(chunk);
    }
  }

  async #until(mark: string): Promise<Buffer> {
    for (;;) {
      const at = this.#pending.indexOf(mark);
      if (at !== -1) return this.#take(at + mark.length);
      if (this.#pending.length > MAX_HEAD) throw this.#noReply('the head of the answer has no end');
      if (!(await this.#more())) {
        throw this.#noReply(this.#failed === undefined ? 'the connection was closed' : 'the connection was reset');
      }
    }
  }

  #noReply(message: string): NoReply {
    return new NoReply(message, this.#sent);
  }

  #take(count: number): Buffer {
    const taken = this.#pending.subarray(0, count);
    this.#pending = this.#pending.subarray(count);
    return taken;
  }

  /** Waits for bytes; false at the end of the connection. */
  #more(): Promise<boolean> {
    if (this.#ended) return Promise.resolve(false);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(this.#noReply(`silence for ${PATIENCE / 1000} s`)), PATIENCE);
      const before = this.#pending.length;
      this.#wake = () => {
        clearTimeout(timer);
        resolve(this.#pending.length > before || !this.#ended);
      };
    });
  }
}

/** Every value of a header, in order. */
export function valuesOf({ headers }: Pick<ReplyHead, 'headers'>, name: string): string[] {
  const wanted = name.toLowerCase();
  return headers.filter(([field]) => field.toLowerCase() === wanted).map(([, value]) => value);
}

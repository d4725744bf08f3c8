import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Mismatch } from './check.ts';
import type { Exchange } from './exchange.ts';
import type { FrontEnd, RequestOptions } from './front-end.ts';
import { shown } from './redact.ts';

/** What the recorder answers on one path: bytes, which go out as they are but for `{host}`, the Host that was asked. */
export interface Script {
  readonly bytes: string;
  /** The connection is not closed behind them. */
  readonly leaveOpen?: boolean;
}

/** A request as it arrived upstream. */
export class Arrival {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly #secrets: readonly string[];

  constructor(request: IncomingMessage, body: Buffer, secrets: readonly string[]) {
    this.method = request.method ?? '';
    this.target = request.url ?? '';
    const { rawHeaders } = request;
    this.headers = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[name, rawHeaders[i + 1] ?? ''] as const] : []));
    this.body = body;
    this.at = Date.now();
    this.#secrets = secrets;
  }

  header(name: string): string | undefined {
    const values = this.headers.filter(([field]) => field.toLowerCase() === name.toLowerCase());
    return values.length === 0 ? undefined : values.map(([, value]) => value).join(', ');
  }

  /** The whole message, for the eyes of a search only: nothing in it is redacted. */
  get text(): string {
    const lines = this.headers.map(([name, value]) => `${name}: ${value}`);
    return `${this.method} ${this.target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${this.body.toString('utf8')}`;
  }

  /** Throws a Mismatch that shows what the browser sent and what arrived upstream, unless `holds`. */
  must(holds: boolean, expected: string, sent: Buffer): void {
    if (holds) return;
    throw new Mismatch({
      sent: shown(sent, this.#secrets),
      received: `upstream:\n${shown(this.text, this.#secrets)}`,
      expected,
    });
  }
}

const PLAIN: Script = {
  bytes: answer(200, ['X-RateLimit-Limit: 1000', 'X-RateLimit-Remaining: 999', 'X-RateLimit-Reset: 60'], '{}'),
};

/** A small upstream that remembers what arrives and answers, byte for byte, what a check asks it to. */
export class Recorder {
  readonly origin: string;
  readonly arrivals: Arrival[] = [];
  readonly close: () => Promise<void>;
  readonly #scripts: Map<string, Script>;

  private constructor(origin: string, scripts: Map<string, Script>, close: () => Promise<void>) {
    this.origin = origin;
    this.#scripts = scripts;
    this.close = close;
  }

  static async start(secrets: readonly string[]): Promise<Recorder> {
    const scripts = new Map<string, Script>();
    const server = createServer(async (request, response) => {
      const body = await bodyOf(request);
      if (body === undefined) return;
      recorder.arrivals.push(new Arrival(request, body, secrets));
      play(scripts.get(request.url ?? '') ?? PLAIN, response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const recorder = new Recorder(`http://127.0.0.1:${port}`, scripts, async () => {
      server.close();
      server.closeAllConnections();
    });
    return recorder;
  }

  /** Answers `path` with `script` from now on. */
  script(path: string, script: Script): void {
    this.#scripts.set(path, script);
  }

  /**
   * Sends a request through the gateway and gives it as it arrived here. Throws a Mismatch when it did not; `path` should
   * be one that nobody else asks for.
   */
  async forwarded(from: FrontEnd, method: string, path: string, options: RequestOptions = {}): Promise<Forwarded> {
    const before = this.arrivals.length;
    const exchange = await from.fetch(method, path, options);
    const arrival = this.arrivals[before];
    if (arrival === undefined) throw exchange.mismatch('the request to arrive upstream');
    return { exchange, arrival };
  }
}

export interface Forwarded {
  readonly exchange: Exchange;
  readonly arrival: Arrival;
}

/** The bytes of an answer with a Content-Length. */
export function answer(status: number, headers: readonly string[], body: string): string {
  const lines = [`HTTP/1.1 ${status} Smoke`, ...headers, `Content-Length: ${Buffer.byteLength(body)}`];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Every answer ends its connection, so that none can be taken for the answer to another request. */
function play({ bytes: template, leaveOpen = false }: Script, response: ServerResponse): void {
  const { socket, req } = response;
  const bytes = template.replaceAll('{host}', req.headers.host ?? '');
  if (socket === null) return;
  socket.on('error', () => undefined);
  if (leaveOpen) socket.write(bytes);
  else socket.end(bytes);
}

/** Undefined when the gateway left in the middle of it. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}

import { readFileSync } from 'node:fs';
import { inject } from 'vitest';
import { Http2Client } from './http2-client.ts';
import { type Client, RawClient, type RawResponse } from './raw-client.ts';

declare module 'vitest' {
  interface ProvidedContext {
    http: 'HTTP/1.1' | 'HTTP/1.1 over TLS' | 'HTTP/2';
  }
}

/** What the front ends of this run speak: the suites that say nothing of it run once over each (vitest.config.ts). */
export const HTTP = inject('http') ?? 'HTTP/1.1';

/** The Host every test tenant answers for. The gateway knows tenants by it, not by the port it happens to listen on. */
export const HOST = 'console.test';
export const ORIGIN = `http://${HOST}`;

/** Signed by itself, for 127.0.0.1 and localhost. */
export const KIT_CA = readFileSync(new URL('tls/loopback.pem', import.meta.url));

/** What the `ws` package opens a WebSocket with; it needs the options `ca`. */
export const WS = HTTP === 'HTTP/1.1' ? 'ws' : 'wss';

/** A connection of a front end of this run. */
export function connectTo(port: number): Promise<Client> {
  if (HTTP === 'HTTP/2') return Http2Client.connect(port);
  return HTTP === 'HTTP/1.1' ? RawClient.connect(port) : RawClient.overTls(port, { ca: KIT_CA });
}

export interface RequestOptions {
  /** Added behind Host, Cookie and Sec-Fetch-Site. */
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string | Buffer | undefined;
}

/** A browser's page of the tenant, down to the bytes: it is signed in and says it is same-origin. */
export class FrontEnd {
  readonly port: number;
  readonly cookie: string;
  readonly host: string;

  constructor(port: number, cookie: string, host = HOST) {
    this.port = port;
    this.cookie = cookie;
    this.host = host;
  }

  /** Signs in as a visitor and comes back with the cookie. */
  static async signIn(port: number, host = HOST): Promise<FrontEnd> {
    const visitor = new FrontEnd(port, '', host);
    const response = await visitor.fetch('POST', '/-/session', { body: '{"method":"visitor"}' });
    const cookie = response.header('set-cookie')?.split(';')[0];
    if (response.status !== 201 || cookie === undefined) throw new Error(`login: ${response.status} ${response.body}`);
    return new FrontEnd(port, cookie, host);
  }

  /** The bytes of a well-formed request. A body is sent with its Content-Length as JSON unless `headers` says otherwise. */
  bytes(method: string, target: string, { headers = [], body }: RequestOptions = {}): Buffer {
    const has = (name: string) => headers.some(([field]) => field.toLowerCase() === name);
    const lines = [`${method} ${target} HTTP/1.1`, `Host: ${this.host}`, 'Sec-Fetch-Site: same-origin'];
    if (this.cookie !== '') lines.push(`Cookie: ${this.cookie}`);
    if (body !== undefined && !has('content-type')) lines.push('Content-Type: application/json');
    if (body !== undefined && !has('content-length') && !has('transfer-encoding')) {
      lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
    }
    for (const [name, value] of headers) lines.push(`${name}: ${value}`);
    return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body ?? '')]);
  }

  connect(): Promise<Client> {
    return connectTo(this.port);
  }

  /** One request over `client`, or over a connection of its own. Throws when no response comes. */
  async fetch(method: string, target: string, options: RequestOptions = {}, client?: Client): Promise<RawResponse> {
    const connection = client ?? (await this.connect());
    try {
      const response = await connection.send(this.bytes(method, target, options)).response(method);
      if (response === undefined) throw new Error(`${method} ${target}: the connection ended without a response`);
      return response;
    } finally {
      if (client === undefined) connection.destroy();
    }
  }
}

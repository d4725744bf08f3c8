import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Secret } from '../../src/secret.ts';
import { type RunningService, type ServiceOptions, startService } from '../../src/service/server.ts';
import { DayKeyCache } from '../../src/signing/day-key.ts';
import { DIALECTS, type Dialect } from '../../src/signing/dialect.ts';
import { sign } from '../../src/signing/sign.ts';
import { Keypair } from '../../src/tenant.ts';

export const ADMIN = new Keypair('AKIAADMIN', new Secret('admin-secret'));
export const USER = new Keypair('AKIAUSER', new Secret('user-secret'));
export const OTHER = new Keypair('AKIAOTHER', new Secret('other-secret'));
export const INACTIVE = new Keypair('AKIAINACTIVE', new Secret('inactive-secret'));

/** The Service with four keypairs, on any free port. */
export function start(options: Partial<ServiceOptions> = {}): Promise<RunningService> {
  return startService({
    host: '127.0.0.1',
    port: 0,
    keypairs: [
      { ...ADMIN, isAdmin: true },
      { ...USER, isAdmin: false },
      { ...OTHER, isAdmin: false },
      { ...INACTIVE, isAdmin: false, isActive: false },
    ],
    ...options,
  });
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body where it is JSON. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** The id of a resource that was created. */
export function idOf(reply: Reply): string {
  return String(reply.body['id']);
}

/** The last segment of a problem's type. */
export function codeOf(reply: Reply): string | undefined {
  return String(reply.body['type']).split('/').pop();
}

export interface CallOptions {
  readonly as?: Keypair;
  readonly body?: unknown;
  /** Sent as it is instead of `body`. */
  readonly raw?: Buffer | string;
  readonly version?: string;
  readonly contentType?: string;
  readonly host?: string;
  /** Epoch milliseconds of the signature. */
  readonly at?: number;
  readonly dialect?: Dialect;
  /** Sent in addition, or in place of the signed ones; undefined leaves a header out. */
  readonly headers?: Record<string, string | string[] | undefined>;
}

/** The headers that sign a request, by the same rules as the gateway's. */
export function signedHeaders(method: string, uri: string, host: string, options: CallOptions = {}) {
  const { as = USER, version = 'v4.20190315', contentType = 'application/json', dialect = DIALECTS.service } = options;
  const bodyHash = createHash('sha256').update(payloadOf(options)).digest('hex');
  const signed = { method, uri, host, contentType, version, bodyHash };
  const { date, authorization } = sign(dialect, new DayKeyCache(), as, signed, options.at ?? Date.now());
  return {
    Host: host,
    Date: date,
    'Content-Type': contentType,
    [`${dialect.headerPrefix}Version`]: version,
    Authorization: authorization,
  };
}

export function payloadOf(options: CallOptions): Buffer {
  if (options.raw !== undefined) return Buffer.from(options.raw);
  return Buffer.from(options.body === undefined ? '' : JSON.stringify(options.body));
}

/** One signed request and its whole answer. */
export function call(service: RunningService, method: string, path: string, options: CallOptions = {}): Promise<Reply> {
  const host = options.host ?? `127.0.0.1:${service.port}`;
  const payload = payloadOf(options);
  const given = { ...signedHeaders(method, path, host, options), ...options.headers };
  const headers = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  if (payload.length > 0 && !('Transfer-Encoding' in headers)) headers['Content-Length'] ??= String(payload.length);
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { host: '127.0.0.1', port: service.port, method, path, headers, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const isJson = /json/.test(response.headers['content-type'] ?? '') && text !== '';
          const body = isJson ? JSON.parse(text) : {};
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, body });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(payload);
  });
}

/** Sends bytes and gives everything that comes back until the Service closes the connection. */
export async function exchange(service: RunningService, bytes: string | Buffer): Promise<string> {
  const socket = connect(service.port, '127.0.0.1');
  socket.write(bytes);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

/** Resolves with the bytes so far once they satisfy the test. */
export function readUntil(socket: Socket, isEnough: (bytes: Buffer) => boolean): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    const receive = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      if (!isEnough(bytes)) return;
      socket.off('data', receive);
      resolve(bytes);
    };
    socket.on('data', receive);
    socket.once('close', () => reject(new Error(`closed after ${bytes.length} bytes`)));
  });
}

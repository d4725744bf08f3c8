import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { WebSocketServer } from 'ws';
import { type KeyPairText, vendorAuthorization } from './vendor-signature.ts';

export interface VendorUpstreamOptions {
  readonly keypair: KeyPairText;
  /** Of the Content-Type `mime` signs the media type alone, in lower case. */
  readonly contentType: 'full' | 'mime';
  /** Epoch milliseconds. */
  readonly clock?: () => number;
}

export interface VerifiedRequest {
  readonly method: string;
  readonly target: string;
  readonly date: string;
  readonly body: Buffer;
  /** 401 where the vendor's client would have sent another Authorization, else 200, or 101 for a WebSocket. */
  readonly status: number;
}

export interface VendorUpstream {
  readonly origin: string;
  readonly port: number;
  /** In the order of their answers. */
  readonly requests: VerifiedRequest[];
  /** Every byte that came, in the order of arrival. */
  readonly received: Buffer[];
  close(): Promise<void>;
}

const FIFTEEN_MINUTES = 15 * 60_000;

/**
 * An upstream whose judgement is not ours: Node's HTTP server reads the bytes, and the vendor's published client says
 * which Authorization they should bear. An API version before 4 covers the body, as that client has it.
 */
export async function startVendorUpstream(options: VendorUpstreamOptions): Promise<VendorUpstream> {
  const { keypair, contentType, clock = Date.now } = options;
  const requests: VerifiedRequest[] = [];
  const received: Buffer[] = [];
  const sockets = new Set<Socket>();
  const webSockets = new WebSocketServer({ noServer: true });

  const judge = (request: IncomingMessage, body: Buffer, success: number): number => {
    const { method = '', url: target = '' } = request;
    const date = only(request, 'date') ?? '';
    const isAccepted = only(request, 'authorization') === expectedOf(request, body);
    requests.push({ method, target, date, body, status: isAccepted ? success : 401 });
    return isAccepted ? success : 401;
  };

  const expectedOf = (request: IncomingMessage, body: Buffer): string | undefined => {
    const [host, type, version, dateLine] = ['host', 'content-type', 'x-backendai-version', 'date'].map((name) =>
      only(request, name),
    );
    if (host === undefined || type === undefined || version === undefined || dateLine === undefined) return undefined;
    const date = new Date(dateLine.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'));
    if (!(Math.abs(date.getTime() - clock()) <= FIFTEEN_MINUTES)) return undefined;
    return vendorAuthorization(keypair, {
      method: request.method ?? '',
      target: request.url ?? '',
      host,
      contentType: contentType === 'full' ? type : (type.split(';')[0]?.trim().toLowerCase() ?? ''),
      version,
      date,
      dateLine,
      body: Number(version[1]) < 4 ? body : Buffer.alloc(0),
    });
  };

  const server = createServer({ keepAliveTimeout: 0 }, async (request, response) => {
    const body = await buffer(request);
    const status = judge(request, body, 200);
    response.writeHead(status, { 'Content-Type': status === 200 ? 'application/json' : 'application/problem+json' });
    response.end(JSON.stringify({ received: body.length }));
  });
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    if (judge(request, Buffer.alloc(0), 101) === 101) webSockets.handleUpgrade(request, socket, head, () => undefined);
    else socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('data', (chunk: Buffer) => void received.push(chunk)).on('error', () => undefined));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    requests,
    received,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** The value of a header that is there exactly once. */
function only(request: IncomingMessage, name: string): string | undefined {
  const values = request.headersDistinct[name];
  return values?.length === 1 ? values[0] : undefined;
}

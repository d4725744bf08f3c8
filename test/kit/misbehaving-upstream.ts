import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket, type TlsOptions } from 'node:tls';

/** What it does on a connection. All it sends is the test's choice; what it is sent is read to the end unless it pauses. */
export interface Behaviour {
  readonly onConnection?: (socket: Socket) => void;
  /** The head of a request has arrived, of its body perhaps some. */
  readonly onHead?: (socket: Socket, head: string) => void;
  /** A request is whole. */
  readonly onRequest?: (socket: Socket, head: string) => void;
}

export interface MisbehavingUpstream {
  readonly origin: string;
  readonly port: number;
  /** Heads of requests, in order of arrival. */
  readonly heads: readonly string[];
  /** Connections made so far. */
  readonly connections: number;
  /** Connections open now. */
  readonly open: number;
  behaviour: Behaviour;
  /** Resolves once `holds` does; it is asked again whenever something happened here. */
  waitUntil(holds: () => boolean): Promise<void>;
  close(): Promise<void>;
}

/** An upstream without manners: a raw socket that knows where requests end and follows no other rule. `wanted`: its port. */
export async function startMisbehavingUpstream(
  behaviour: Behaviour,
  tls?: TlsOptions,
  wanted = 0,
): Promise<MisbehavingUpstream> {
  const heads: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  let watchers: (() => void)[] = [];
  const changed = () => {
    const waiting = watchers;
    watchers = [];
    for (const wake of waiting) wake();
  };
  const onConnection = (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      sockets.delete(socket);
      changed();
    });
    socket.on('end', () => socket.end());
    upstream.behaviour.onConnection?.(socket);
    readRequests(
      socket,
      (head) => {
        heads.push(head);
        changed();
        upstream.behaviour.onHead?.(socket, head);
      },
      (head) => upstream.behaviour.onRequest?.(socket, head),
    );
    changed();
  };
  const server: Server = tls
    ? createTlsServer({ ...tls, ALPNProtocols: ['http/1.1'] }, onConnection)
    : createServer({ allowHalfOpen: true, noDelay: true }, onConnection);
  server.on('tlsClientError', () => undefined);
  server.listen(wanted, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const upstream: MisbehavingUpstream = {
    origin: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    port,
    heads,
    behaviour,
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size;
    },
    async waitUntil(holds) {
      while (!holds()) await new Promise<void>((resolve) => watchers.push(resolve));
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
  return upstream;
}

/** Cuts what arrives into requests, by Content-Length or the last chunk of a chunked body. */
function readRequests(socket: Socket, onHead: (head: string) => void, onRequest: (head: string) => void): void {
  let text = '';
  let head: string | undefined;
  let missing = 0;
  const isChunked = () => /^transfer-encoding:/im.test(head ?? '');
  const bodyOver = () => (isChunked() ? text.endsWith('0\r\n\r\n') : text.length >= missing);
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1');
    for (;;) {
      if (head === undefined) {
        const end = text.indexOf('\r\n\r\n');
        if (end === -1) return;
        head = text.slice(0, end + 4);
        text = text.slice(end + 4);
        missing = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
        onHead(head);
      }
      if (!bodyOver()) {
        // Counted, not kept: uploads are large here.
        if (isChunked()) text = text.slice(-5);
        else [missing, text] = [missing - text.length, ''];
        return;
      }
      const whole = head;
      text = isChunked() ? '' : text.slice(missing);
      head = undefined;
      onRequest(whole);
    }
  });
}

/** Breaks the connection; over TCP with a reset. */
export function breakOff(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}

/** The bytes of a well-formed answer. */
export function answerOf(body: string, headers = ''): string {
  return `HTTP/1.1 200 OK\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
}

export function targetOf(head: string): string {
  return head.split(' ', 2)[1] ?? '';
}

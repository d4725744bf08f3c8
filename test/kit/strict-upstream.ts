import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from 'node:tls';
import { Answer } from './answer.ts';
import { ByteSource } from './byte-source.ts';
import { parseHead, type RequestHead, readBody, Violation } from './strict-http.ts';
import { type Brand, SERVICE, type Verdict, verifySignature } from './verify-signature.ts';

export interface RecordedRequest extends RequestHead {
  readonly payload: Buffer;
  readonly verdict: Verdict;
  /** Counts the connections of this upstream from 0: two requests with one number shared a connection. */
  readonly connection: number;
}

export interface StrictUpstreamOptions {
  /** Access key → secret key: those it accepts, or those it accepts at a time (epoch milliseconds). */
  readonly keypairs: Readonly<Record<string, string>> | ((now: number) => Readonly<Record<string, string>>);
  readonly brand?: Brand;
  /** Epoch milliseconds. */
  readonly clock?: () => number;
  /** Its JSON answers have a Date header, by its clock. */
  readonly tellsTime?: boolean;
  /** Answers a whole request; what it leaves unanswered gets the default answer. */
  readonly respond?: (request: RecordedRequest, answer: Answer) => void | Promise<void>;
  /** Answers before the body is read; false leaves the request to `respond`. The connection ends with such an answer. */
  readonly respondEarly?: (head: RequestHead, answer: Answer) => false | Promise<void>;
  readonly tls?: TlsOptions;
  /** Told of every connection over TLS. */
  readonly onSecure?: (socket: TLSSocket) => void;
  readonly host?: string;
  /** Port 0 when left out. */
  readonly port?: number;
}

export interface StrictUpstream {
  readonly origin: string;
  readonly port: number;
  /** Whole requests, in order of arrival. */
  readonly requests: RecordedRequest[];
  /** Heads, as they arrive: also those whose body never comes. */
  readonly heads: RequestHead[];
  /** What was wrong with the bytes; the connection that brought them was closed. */
  readonly violations: Violation[];
  /** Connections that ended in the middle of a request body. */
  readonly abandoned: RequestHead[];
  readonly connections: number;
  /** Connections that are open now. */
  readonly open: number;
  /** The first request, past or to come, that `matches`. */
  waitForRequest(matches?: (request: RecordedRequest) => boolean): Promise<RecordedRequest>;
  /** Resolves once `holds` does; it is asked again whenever something happened here. */
  waitUntil(holds: () => boolean): Promise<void>;
  close(): Promise<void>;
}

/**
 * An upstream that trusts nothing: it reads the bytes of a raw socket by RFC 9112 at its strictest and verifies every
 * signature. Any second opinion about where a request ends shows as a violation.
 */
export async function startStrictUpstream(options: StrictUpstreamOptions): Promise<StrictUpstream> {
  const { brand = SERVICE, clock = Date.now, keypairs } = options;
  const requests: RecordedRequest[] = [];
  const heads: RequestHead[] = [];
  const violations: Violation[] = [];
  const abandoned: RequestHead[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  let watchers: (() => void)[] = [];
  const changed = () => {
    const waiting = watchers;
    watchers = [];
    for (const wake of waiting) wake();
  };

  const serve = async (socket: Socket, connection: number) => {
    const source = new ByteSource(socket);
    for (;;) {
      const bytes = await source.until('\r\n\r\n');
      if (bytes === undefined) {
        if (source.buffered > 0)
          throw new Violation('truncated-head', JSON.stringify(source.detach().toString('latin1')));
        socket.end();
        return;
      }
      const head = parseHead(bytes);
      heads.push(head);
      changed();
      const early = options.respondEarly?.(head, new Answer(socket, source, head));
      if (early !== undefined && early !== false) {
        await early;
        socket.end();
        return;
      }
      const payload = await readBody(source, head);
      if (payload === undefined) {
        abandoned.push(head);
        socket.end();
        return changed();
      }
      const upgrade = head.rawHeaders.some(([name]) => name.toLowerCase() === 'upgrade');
      if (source.buffered > 0 && !upgrade) throw new Violation('bytes-behind-request', head.text);
      const now = clock();
      const known = typeof keypairs === 'function' ? keypairs(now) : keypairs;
      const verdict = verifySignature({ ...head, body: payload }, { brand, keypairs: known, now });
      const request: RecordedRequest = { ...head, payload, verdict, connection };
      requests.push(request);
      changed();
      const answer = new Answer(socket, source, head, options.tellsTime ? new Date(now).toUTCString() : undefined);
      if (!verdict.ok) await answer.json(401, { type: 'https://upstream.example/unauthorized', title: verdict.why });
      else await options.respond?.(request, answer);
      if (!answer.begun) await answer.json(200, { method: head.method, target: head.target, received: payload.length });
      if (answer.isLast) return;
    }
  };

  const onConnection = (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      changed();
    });
    socket.on('error', () => {});
    serve(socket, connections++).then(
      () => {},
      (fault) => {
        violations.push(fault instanceof Violation ? fault : new Violation('internal', String(fault)));
        changed();
        socket.destroy();
      },
    );
  };
  const server: Server = options.tls
    ? createTlsServer({ ...options.tls, ALPNProtocols: ['http/1.1'] }, (socket) => {
        options.onSecure?.(socket);
        onConnection(socket);
      })
    : createServer({ allowHalfOpen: true }, onConnection);
  server.listen(options.port ?? 0, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');

  return {
    origin: `${options.tls ? 'https' : 'http'}://127.0.0.1:${address.port}`,
    port: address.port,
    requests,
    heads,
    violations,
    abandoned,
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size;
    },
    async waitForRequest(matches = () => true) {
      for (;;) {
        const found = requests.find(matches);
        if (found !== undefined) return found;
        await new Promise<void>((resolve) => watchers.push(resolve));
      }
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
}

import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import type { Server as NetServer, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { Problem } from '../problem.ts';
import type { EdgeTls, ListenSettings } from '../snapshot.ts';
import { Http2Reply } from './http2/reply.ts';
import { createSecureEdgeServer } from './secure-server.ts';

const newestReply = Symbol('the reply to the newest request of a connection');

/** Kept on the socket itself: a map by socket would be written, and looked after by the collector, at every request. */
type EdgeSocket = Socket & { [newestReply]?: ServerResponse };

/** What the listener hands on. */
export interface EdgeHandlers {
  request(request: IncomingMessage, reply: ServerResponse): void;
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void;
  /** Bytes that are no request, or one that took too long; answered on the socket. */
  unreadable(socket: Socket, problem: Problem): void;
}

/** The public listener, whatever it speaks. */
export interface EdgeServer extends NetServer {
  closeIdleConnections(): void;
  closeAllConnections(): void;
  /** Changes the certificates of a listener on TLS; connections that are open keep theirs. */
  setCertificates?(tls: EdgeTls): void;
}

/**
 * The public listener. Its parser of HTTP/1.1 is strict: chunked together with a length, two lengths, obs-fold, bare LF
 * and CR never become a request. A header or request that does not arrive in time is cut off with 408.
 */
export function createEdgeServer(settings: ListenSettings, handlers: EdgeHandlers): EdgeServer {
  const options = http1Options(settings);
  const server =
    settings.tls === undefined ? createServer(options) : createSecureEdgeServer(settings, settings.tls, options);
  listenTo(server as Server, handlers);
  return server;
}

function http1Options(settings: ListenSettings): ServerOptions {
  return {
    insecureHTTPParser: false,
    // A missing Host is refused by intake, as a problem like any other.
    requireHostHeader: false,
    maxHeaderSize: settings.maxHeaderSize,
    headersTimeout: settings.headerTimeout,
    requestTimeout: settings.requestTimeout,
    keepAliveTimeout: settings.keepAlive,
    connectionsCheckingInterval: Math.max(250, Math.min(settings.headerTimeout / 4, 5000)),
    noDelay: true,
    // An Upgrade to anything but a WebSocket is ignored, as HTTP allows, and the request served as it stands.
    shouldUpgradeCallback: (request) => request.headers.upgrade?.toLowerCase() === 'websocket',
  };
}

function listenTo(server: Server, handlers: EdgeHandlers): void {
  // Unlimited here and counted by intake: past its limit node:http drops headers silently, and a dropped header is one
  // that was never judged.
  server.maxHeadersCount = 0;
  const onRequest = (request: IncomingMessage, reply: ServerResponse) => {
    (request.socket as EdgeSocket)[newestReply] = reply;
    handlers.request(request, reply);
  };
  server.on('request', onRequest);
  server.on('checkContinue', onRequest);
  server.on('checkExpectation', onRequest);
  server.on('upgrade', (request, socket, head) => handlers.upgrade(request, socket as Socket, head));
  server.on('connect', (request, socket: Socket | Http2Reply) => {
    // Over HTTP/2 it is a request like any other, of a method that is not served.
    if (socket instanceof Http2Reply) return handlers.request(request, socket as never);
    socket.on('error', () => undefined);
    handlers.unreadable(socket, new Problem('method-not-allowed', 'CONNECT is not served here.', { close: true }));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    socket.on('error', () => undefined);
    const refused = problemOf(error.code ?? '');
    const reply = (socket as EdgeSocket)[newestReply];
    const isHandshake = socket instanceof TLSSocket && !PARSER_CODE.test(error.code ?? '');
    if (error.code === 'ECONNRESET' || isHandshake || !socket.writable || socket.bytesRead === 0) socket.destroy();
    else if (reply === undefined || reply.writableFinished) handlers.unreadable(socket, refused);
    // Garbage pipelined behind a sound request: that one gets its answer first, or the refusal would pass for it.
    else if (reply.req.complete) reply.once('close', () => handlers.unreadable(socket, refused));
    // An answer has begun, most likely the refusal of this very request: it goes out whole, and the connection with it.
    else if (reply.headersSent) reply.once('finish', () => socket.destroySoon());
    else handlers.unreadable(socket, refused);
  });
}

/** What is no error of TLS. */
const PARSER_CODE = /^(?:HPE_|ERR_HTTP_)/;

/** By the parser's own codes (llhttp). */
function problemOf(code: string): Problem {
  const close = { close: true };
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem('headers-too-large', 'The request line and headers are too large.', close);
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('request-timeout', 'The request did not arrive in time.', close);
    case 'HPE_INVALID_METHOD':
      return new Problem('malformed-request', 'The method is not known.', close);
    case 'HPE_INVALID_URL':
      return new Problem('ambiguous-target', 'The request target has a byte that no target may have.', close);
    default:
      return new Problem('malformed-request', 'The request is no valid HTTP/1.1 message.', close);
  }
}

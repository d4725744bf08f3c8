import { Server, type ServerOptions } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { Socket } from 'node:net';
import type { EdgeTls, ListenSettings } from '../snapshot.ts';
import { EdgeCertificates } from './certificates.ts';
import { Http2Connections, http2Limits } from './http2/connections.ts';
import { Http2Reply } from './http2/reply.ts';
import { Http2Request } from './http2/request.ts';
import type { EdgeServer } from './server.ts';

/**
 * The listener on TLS: HTTP/2 and HTTP/1.1 on one port, as the client likes (ALPN). `http1` is what the plain listener is
 * made with; its events are the same, requests of HTTP/2 among them.
 */
export function createSecureEdgeServer(settings: ListenSettings, tls: EdgeTls, http1: ServerOptions): EdgeServer {
  let certificates = new EdgeCertificates(tls);
  const connections = new Http2Connections(settings);
  const server = createSecureServer({
    ...http1,
    ...http2Limits(settings),
    ...certificates.fallback,
    allowHTTP1: true,
    http1Options: http1,
    Http2ServerRequest: Http2Request as never,
    Http2ServerResponse: Http2Reply as never,
    SNICallback: (name, choose) => choose(null, certificates.for(name)),
    requestCert: tls.clientCa !== undefined,
    rejectUnauthorized: tls.clientCa !== undefined,
    handshakeTimeout: settings.headerTimeout,
  });
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('session', (session) => {
    connections.adopt(session);
    // It was still shaking hands when everybody else was told to go.
    if (!server.listening) session.close();
  });
  const bound = (request: unknown, reply: unknown) => {
    if (request instanceof Http2Request) request.expectWithin(settings.requestTimeout);
    if (reply instanceof Http2Reply) reply.giveUpAfter(settings.keepAlive);
  };
  server.on('request', bound).on('checkContinue', bound).on('checkExpectation', bound);
  return Object.assign(server as unknown as EdgeServer, {
    // Not taken from the options by this kind of server.
    shouldUpgradeCallback: http1.shouldUpgradeCallback,
    closeIdleConnections() {
      Server.prototype.closeIdleConnections.call(server);
      connections.closeIdle();
    },
    closeAllConnections() {
      for (const socket of sockets) socket.destroy();
    },
    setCertificates(next: EdgeTls) {
      certificates = new EdgeCertificates(next);
      server.setSecureContext(certificates.fallback);
    },
  });
}

import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { getRequestListener } from '@hono/node-server';
import { createOperatorApp } from './app.ts';
import type { OperatorParts } from './parts.ts';

/** Operators are few and their requests small. Milliseconds and bytes. */
const LIMITS = { headersTimeout: 5000, requestTimeout: 10_000, keepAliveTimeout: 65_000, maxHeaderSize: 8192 };
const CONNECTIONS = 256;

export interface OperatorServer {
  readonly server: Server;
  close(): Promise<void>;
}

/** The operators' listener, ready to listen. */
export function createOperatorServer(parts: OperatorParts): OperatorServer {
  const { app, close } = createOperatorApp(parts);
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const { tls } = parts.settings;
  const server =
    tls === undefined
      ? createServer(LIMITS, listener)
      : createTlsServer(
          {
            ...LIMITS,
            cert: tls.cert,
            key: tls.key.reveal(),
            ...(tls.clientCa !== undefined && { ca: tls.clientCa, requestCert: true, rejectUnauthorized: true }),
          },
          listener,
        );
  server.maxConnections = CONNECTIONS;
  return {
    server,
    close() {
      close();
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

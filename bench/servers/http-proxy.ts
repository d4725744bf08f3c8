import { Agent, createServer, type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { requirePackage } from '../peers/npm.ts';

/** http-proxy 1.18 set up as http-proxy-3 is. Arguments: the port, the upstream's port. */
interface Proxy {
  web(request: IncomingMessage, reply: ServerResponse): void;
  ws(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  on(event: 'error', listener: (error: Error, request: IncomingMessage, reply: ServerResponse | Duplex) => void): void;
}
const { createProxyServer } = requirePackage('http-proxy') as { createProxyServer(options: object): Proxy };

const [port, upstreamPort] = process.argv.slice(2);
const proxy = createProxyServer({ target: `http://127.0.0.1:${upstreamPort}`, agent: new Agent({ keepAlive: true }) });
proxy.on('error', (_error, _request, reply) => {
  if (reply instanceof ServerResponse && !reply.headersSent) reply.writeHead(502);
  reply.end();
});
const server = createServer({ keepAliveTimeout: 75_000 }, (request, reply) => proxy.web(request, reply));
server.on('upgrade', (request, socket, head) => proxy.ws(request, socket, head));
server.listen(Number(port), '127.0.0.1');

import { Agent, createServer, ServerResponse } from 'node:http';
import { createProxyServer } from 'http-proxy-3';

/** http-proxy-3 and nothing else, as fast as its own options make it. Arguments: the port, the upstream's port. */
const [port, upstreamPort] = process.argv.slice(2);
const proxy = createProxyServer({
  target: `http://127.0.0.1:${upstreamPort}`,
  // Without an agent it opens a connection for every request, at more than twice the CPU.
  agent: new Agent({ keepAlive: true }),
});
proxy.on('error', (_error, _request, reply) => {
  if (reply instanceof ServerResponse && !reply.headersSent) reply.writeHead(502);
  reply.end();
});
const server = createServer({ keepAliveTimeout: 75_000 }, (request, reply) => proxy.web(request, reply));
server.on('upgrade', (request, socket, head) => proxy.ws(request, socket, head));
server.listen(Number(port), '127.0.0.1');

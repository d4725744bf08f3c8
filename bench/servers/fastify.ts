import { requirePackage } from '../peers/npm.ts';

/** @fastify/http-proxy and nothing else. Arguments: the port, the upstream's port. */
interface Fastify {
  register(plugin: unknown, options: object): Fastify;
  listen(options: { host: string; port: number }): Promise<string>;
}
const { fastify } = requirePackage('fastify') as { fastify(options: object): Fastify };

const [port, upstreamPort] = process.argv.slice(2);
const server = fastify({ keepAliveTimeout: 75_000, logger: false });
const upstream = `http://127.0.0.1:${upstreamPort}`;
server.register(requirePackage('@fastify/http-proxy'), { upstream, websocket: true });
await server.listen({ host: '127.0.0.1', port: Number(port) });

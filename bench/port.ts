import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A port that is free at the moment; nobody keeps it free until it is used. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no TCP port was given');
  return address.port;
}

/** Resolves once a loopback port accepts a connection. Nobody tells when it does, so this asks, for `limit` milliseconds. */
export async function accepts(port: number, limit: number): Promise<void> {
  for (const deadline = performance.now() + limit; performance.now() < deadline; await delay(20)) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return;
    } catch {
      // Not yet.
    } finally {
      socket.destroy();
    }
  }
  throw new Error(`port ${port} does not accept connections after ${limit} ms`);
}

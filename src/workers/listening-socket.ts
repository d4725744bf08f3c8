import { lookup } from 'node:dns/promises';
import * as net from 'node:net';

/** The address the workers share. `port` is the actual one. */
export interface SharedAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * Finds the address that sockets of `bindShared` can share. `reusePort` lets any process of the same user in, so a port
 * that is in use is only seen by a socket that does not share. Rejects with the error of the operating system, e.g. code
 * EADDRINUSE, or ENOTSUP where it knows no SO_REUSEPORT.
 */
export async function reserveAddress(host: string, port: number): Promise<SharedAddress> {
  if (net.BoundSocket === undefined) {
    throw Object.assign(new Error('Workers need Node.js 26.4 or newer.'), { code: 'ENOTSUP' });
  }
  const { address } = await lookup(host);
  const alone = new net.BoundSocket({ host: address, port });
  const actual = alone.address().port;
  alone.close();
  bindShared({ host: address, port: actual }).close();
  return { host: address, port: actual };
}

/**
 * A socket of its own for one worker, bound with SO_REUSEPORT: the kernel spreads connections over the sockets that listen.
 * It is bound by the primary and handed down, because connections that wait in the queue of a listening socket are lost
 * when its last descriptor is closed: this way they wait for the worker that comes next.
 */
export function bindShared({ host, port }: SharedAddress): net.BoundSocket {
  return new net.BoundSocket({ host, port, reusePort: true });
}

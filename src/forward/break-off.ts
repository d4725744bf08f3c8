import type { ServerResponse } from 'node:http';
import { TLSSocket } from 'node:tls';

/** Breaks a reply so that it cannot pass for whole. */
export function breakOff(reply: ServerResponse): void {
  // A reset, not a FIN: to a client of a length-less HTTP/1.0 response a FIN would look like the proper end. TLS has an
  // end of its own, which is left out here; HTTP/2, which is TLS too, resets the stream and not the socket.
  if (!(reply.socket instanceof TLSSocket)) reply.socket?.resetAndDestroy();
  reply.destroy();
}

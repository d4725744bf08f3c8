import { isIP, type OnReadOpts, type Socket } from 'node:net';
import { type ConnectionOptions, connect, type SecureContextOptions } from 'node:tls';

/** How a server is verified, and how it verifies us. */
export type TlsOptions = Pick<SecureContextOptions, 'ca' | 'cert' | 'key'> & { readonly servername?: string };

/** Opens a TLS connection to a server that is to speak HTTP/1.1. */
export function openTls(
  host: string,
  port: number,
  tls: TlsOptions,
  onread: OnReadOpts,
  onConnect: () => void,
): Socket {
  // A name that is an address cannot be sent as SNI (RFC 6066 §3); the certificate is still checked against it.
  const { servername = isIP(host) === 0 ? host : undefined, ...rest } = tls;
  const options: ConnectionOptions = { host, port, ...rest, ALPNProtocols: ['http/1.1'] };
  if (servername !== undefined) options.servername = servername;
  // `onread` is an option of every socket (tls.connect), which its type does not know.
  Object.assign(options, { onread });
  return connect(options, onConnect).setNoDelay(true).setKeepAlive(true);
}

import type { Secret } from './secret.ts';

/** A certificate with its chain, and its private key; PEM. */
export interface TlsIdentity {
  readonly cert: string;
  readonly key: Secret;
}

/** What an upstream’s TLS takes besides the defaults: verification itself cannot be turned off. */
export interface UpstreamTls {
  /** PEM certificates of the authorities that are trusted in place of the machine’s own. */
  readonly ca: string | undefined;
  /** The name that is asked for (SNI) and that the certificate must be for, in place of the Host that is sent. */
  readonly serverName: string | undefined;
  /** Shown to an upstream that asks who is connecting (mTLS). */
  readonly clientCertificate: TlsIdentity | undefined;
  /** Tells two of these apart: connections are never shared between different ones. Gives nothing away. */
  readonly id: string;
}

/** In the terms of node:tls. */
export interface TlsClientOptions {
  ca?: string;
  cert?: string;
  key?: string;
  servername?: string;
}

/** What to connect with. Holds the private key: hand it to TLS and to nobody else. */
export function tlsClientOptions(tls: UpstreamTls | undefined): TlsClientOptions {
  if (tls === undefined) return {};
  const { ca, serverName, clientCertificate } = tls;
  return {
    ...(ca !== undefined && { ca }),
    ...(serverName !== undefined && { servername: serverName }),
    ...(clientCertificate && { cert: clientCertificate.cert, key: clientCertificate.key.reveal() }),
  };
}

import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import type { EdgeTls } from '../snapshot.ts';

/** The certificates of a listener, by the names they are for. */
export class EdgeCertificates {
  readonly #contexts: readonly { readonly certificate: X509Certificate; readonly context: SecureContext }[];
  /** For clients that ask for no name, or for one that no certificate is for. */
  readonly fallback: SecureContextOptions;

  constructor(tls: EdgeTls) {
    const options = tls.certificates.map(({ cert, key }): SecureContextOptions & { cert: string } => ({
      cert,
      key: key.reveal(),
      minVersion: tls.minVersion,
      ...(tls.clientCa !== undefined && { ca: tls.clientCa }),
    }));
    const [first] = options;
    if (first === undefined) throw new RangeError('a listener has at least one certificate');
    this.fallback = first;
    this.#contexts = options.map((one) => ({
      certificate: new X509Certificate(one.cert),
      context: createSecureContext(one),
    }));
  }

  /** Undefined where the fallback has to do. */
  for(name: string): SecureContext | undefined {
    return this.#contexts.find(({ certificate }) => certificate.checkHost(name) !== undefined)?.context;
  }
}

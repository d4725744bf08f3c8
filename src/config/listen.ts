import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { ListenSettings } from '../snapshot.ts';
import type { Tenant } from '../tenant.ts';
import type { CertificateReader } from './certificates.ts';
import type { YamlDocument } from './document.ts';
import type { Fault } from './fault.ts';
import type { Config } from './schema.ts';

interface ListenContext {
  readonly certificates: CertificateReader;
  readonly document: YamlDocument;
  readonly faults: Fault[];
}

/** Resolves the public listener; what is wrong with it goes to the context. */
export function buildListen(
  { tls, ...listen }: Config['listen'],
  { certificates, document, faults }: ListenContext,
): ListenSettings {
  if (listen.requestTimeout !== 0 && listen.requestTimeout < listen.headerTimeout) {
    faults.push(document.fault(['listen', 'requestTimeout'], 'requestTimeout is shorter than headerTimeout'));
  }
  if (tls === undefined) return { ...listen, tls: undefined };
  const at = ['listen', 'tls'];
  const identities = tls.certificates.flatMap(
    (source, i) => certificates.identity(source, [...at, 'certificates', i]) ?? [],
  );
  const clientCa = tls.clientCa === undefined ? undefined : certificates.authorities(tls.clientCa, [...at, 'clientCa']);
  return { ...listen, tls: { certificates: identities, clientCa, minVersion: tls.minVersion } };
}

/** The warnings about origins on https that a browser would find no certificate for. */
export function uncoveredOrigins({ tls }: ListenSettings, tenants: readonly Tenant[], document: YamlDocument): Fault[] {
  if (tls === undefined) return [];
  const certificates = tls.certificates.map(({ cert }) => new X509Certificate(cert));
  const isCovered = (host: string) =>
    certificates.some((it) => (isIP(host) === 0 ? it.checkHost(host) : it.checkIP(host)) !== undefined);
  return tenants.flatMap(({ name, origins }) =>
    [...origins].flatMap((origin, i) => {
      const { protocol, hostname } = new URL(origin);
      if (protocol !== 'https:' || isCovered(hostname.replace(/^\[(.*)\]$/, '$1'))) return [];
      const message = `no certificate under listen.tls is for ${hostname}: browsers will not connect`;
      return document.fault(['tenants', name, 'origins', i], message, {
        hint: 'add one under listen.tls.certificates',
      });
    }),
  );
}

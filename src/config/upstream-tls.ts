import { hash } from 'node:crypto';
import type { UpstreamTls } from '../tls.ts';
import type { PathSegment } from './fault.ts';
import type { TenantConfig } from './schema-tenant.ts';
import type { TenantContext } from './tenants.ts';

/** Resolves an upstream's `tls` section; faults go to the context. */
export function buildUpstreamTls(
  { tls, endpoints }: TenantConfig['upstream'],
  at: readonly PathSegment[],
  { certificates, document, faults }: TenantContext,
): UpstreamTls | undefined {
  if (tls === undefined) return undefined;
  if (!endpoints.some((endpoint) => endpoint.startsWith('https:'))) {
    faults.push(document.fault(at, 'no endpoint is on https: this would protect nothing'));
  }
  const { serverName, ca, clientCertificate: client } = tls;
  const authorities = ca === undefined ? undefined : certificates.authorities(ca, [...at, 'ca']);
  const identity = client && certificates.identity(client, [...at, 'clientCertificate']);
  const all = JSON.stringify([authorities, serverName, identity?.cert, identity?.key.reveal()]);
  return { ca: authorities, serverName, clientCertificate: identity, id: hash('sha256', all) };
}

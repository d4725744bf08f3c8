import type { FailedRequest } from '../observe/failed-request.ts';
import { expiresAt, idleExpiresAt, type Session } from '../session/session.ts';
import type { Tenant } from '../tenant.ts';
import { isUp } from './health.ts';
import { describeKeypairs } from './keypairs.ts';
import type { OperatorParts, ReloadRecord } from './parts.ts';
import type { Probe } from './probe.ts';
import type {
  EndpointDocument,
  KeypairDocument,
  ReloadDocument,
  SessionDocument,
  StatusDocument,
  TenantDocument,
} from './schema.ts';

/** How the gateway's nouns look in the operator API. Everything is named field by field: a secret cannot slip in. */

export function sessionToJson(session: Session): SessionDocument {
  return {
    id: session.key,
    tenant: session.tenant,
    subject: session.subject ?? null,
    roles: [...session.roles],
    method: session.method,
    createdAt: iso(session.createdAt),
    seenAt: iso(session.seenAt),
    expiresAt: iso(expiresAt(session)),
    idleExpiresAt: iso(idleExpiresAt(session)),
  };
}

export function tenantToJson({ name, origins, keypairs, login, upstream, routes }: Tenant): TenantDocument {
  return {
    name,
    origins: [...origins],
    roles: [...keypairs.keys()],
    loginMethods: Object.keys(login),
    upstream: { endpoints: [...upstream.endpoints], version: upstream.version, mount: upstream.mount },
    routes: routes.map(({ path, methods, roles }) => ({ path, methods: [...methods], roles: [...roles] })),
  };
}

export function keypairsToJson(tenants: readonly Tenant[], now: number): KeypairDocument[] {
  return tenants.flatMap((tenant) =>
    describeKeypairs(tenant, now).map(({ role, accessKey, state, valid, current, setAsideUntil, quota }) => ({
      tenant: tenant.name,
      role,
      accessKey,
      state,
      valid,
      current,
      setAsideUntil: isoOrNull(setAsideUntil),
      quota: quota === undefined ? null : { limit: quota.limit, remaining: quota.remaining, reset: quota.reset },
    })),
  );
}

/** Every configured endpoint once, with the tenants that use it. */
export function endpointsToJson(parts: OperatorParts, probe: Probe): Promise<EndpointDocument[]> {
  const { tenants } = parts.snapshot();
  const origins = new Set(tenants.flatMap(({ upstream }) => upstream.endpoints));
  const now = parts.clock();
  return Promise.all(
    [...origins].map(async (origin) => {
      const state = parts.endpoints.describe(origin, now);
      const { cooling, pending, attempts, answeredAt, failure, breaker, retries, skew, clock } = state;
      return {
        origin,
        tenants: tenants.filter(({ upstream }) => upstream.endpoints.includes(origin)).map(({ name }) => name),
        up: await isUp(state, parts, probe),
        cooling,
        breaker: { state: breaker.state, since: isoOrNull(breaker.since), opened: breaker.entered.open },
        retries: { ...retries },
        pending,
        attempts: { ...attempts },
        lastAnswerAt: isoOrNull(answeredAt),
        lastFailure: failure === undefined ? null : { at: iso(failure.at), kind: failure.kind },
        skew: skew === undefined ? null : { ms: Math.round(skew.ms), uncertainty: Math.round(skew.uncertainty) },
        clock: { ...clock },
      };
    }),
  );
}

export function reloadToJson({ at, ok, reason, faults }: ReloadRecord): ReloadDocument {
  return {
    at: iso(at),
    ok,
    reason,
    faults: faults.map(({ file, line, path, message }) => ({ file, line, path, message })),
  };
}

export function failureToJson(failed: FailedRequest): StatusDocument['failures'][number] {
  const { requestId, at, tenant, method, route, status, code, reason } = failed;
  return {
    requestId,
    at: iso(at),
    tenant: tenant ?? null,
    method,
    route: route ?? null,
    status,
    code: code ?? null,
    reason: reason ?? null,
  };
}

export function iso(epoch: number): string {
  return new Date(epoch).toISOString();
}

function isoOrNull(epoch: number | undefined): string | null {
  return epoch === undefined ? null : iso(epoch);
}

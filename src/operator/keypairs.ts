import type { KeypairDescription } from '../keypair-ring.ts';
import type { Tenant } from '../tenant.ts';

/** A keypair as operators see it: never its secret. */
export interface KeypairState extends KeypairDescription {
  readonly role: string;
}

/** The keypairs of a tenant, role by role, each ring in its order. */
export function describeKeypairs(tenant: Tenant, now: number): KeypairState[] {
  return [...tenant.keypairs].flatMap(([role, ring]) => ring.describe(now).map((keypair) => ({ role, ...keypair })));
}

/** A figure as a number; null when the upstream said something else. */
export function figure(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

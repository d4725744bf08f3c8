import type { KeypairState } from '../keypair-ring.ts';
import type { Keypair, Tenant } from '../tenant.ts';

/** A keypair, the role it signs for, and its part in it. */
export interface RoleKeypair {
  readonly role: string;
  /** The role; with the access key where the role has several keypairs. */
  readonly label: string;
  /** Where the configuration has it, `keypairs.admin[1]`. */
  readonly place: string;
  readonly keypair: Keypair;
  readonly state: KeypairState;
  /** The next request of the role would be signed with it. */
  readonly current: boolean;
}

/** Every keypair of a tenant, in the order of the configuration. `now` is epoch milliseconds. */
export function keypairsOf(tenant: Tenant, now: number): RoleKeypair[] {
  return [...tenant.keypairs].flatMap(([role, ring]) => {
    const descriptions = ring.describe(now);
    const isRing = ring.members.length > 1;
    return ring.members.map(({ keypair, state }, i) => ({
      role,
      label: isRing ? `${role} (${keypair.accessKey})` : role,
      place: isRing ? `keypairs.${role}[${i}]` : `keypairs.${role}`,
      keypair,
      state,
      current: descriptions[i]?.current === true,
    }));
  });
}

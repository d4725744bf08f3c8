import { KeypairRing, type RingMember } from '../keypair-ring.ts';
import type { YamlDocument } from './document.ts';
import type { Fault, PathSegment } from './fault.ts';
import type { Keypairs } from './keypairs.ts';
import type { KeypairsConfig } from './schema-keypairs.ts';
import type { SecretReader } from './secrets.ts';

interface RingContext {
  readonly document: YamlDocument;
  readonly secrets: SecretReader;
  readonly keypairs: Keypairs;
  readonly faults: Fault[];
}

type MemberConfig = Extract<KeypairsConfig, readonly unknown[]>[number];

/** Builds the ring of a role of `tenant` from its section at `at`; what is wrong with it goes to `context.faults`. */
export function buildRing(
  tenant: string,
  section: KeypairsConfig,
  at: PathSegment[],
  context: RingContext,
): KeypairRing {
  if (!Array.isArray(section)) {
    return new KeypairRing(membersOf(tenant, { ...section, state: 'active' }, at, context));
  }
  checkRing(section, at, context);
  return new KeypairRing(section.flatMap((member, i) => membersOf(tenant, member, [...at, i], context)));
}

/** None when the secret cannot be read. */
function membersOf(tenant: string, member: MemberConfig, at: PathSegment[], context: RingContext): RingMember[] {
  const { accessKey, secretKey, ...place } = member;
  const secret = context.secrets.read(secretKey, [...at, 'secretKey']);
  return secret === undefined ? [] : [{ keypair: context.keypairs.get(tenant, accessKey, secret), ...place }];
}

function checkRing(members: readonly MemberConfig[], at: PathSegment[], { document, faults }: RingContext): void {
  const taken = new Map<string, number>();
  for (const [i, { accessKey, notBefore, notAfter }] of members.entries()) {
    const other = taken.get(accessKey);
    if (other === undefined) taken.set(accessKey, i);
    else faults.push(document.fault([...at, i, 'accessKey'], `access key ${accessKey} is already that of [${other}]`));
    if (notBefore !== undefined && notAfter !== undefined && notAfter <= notBefore) {
      faults.push(document.fault([...at, i, 'notAfter'], 'notAfter is not later than notBefore'));
    }
  }
  if (members.every(({ state }) => state === 'retired')) {
    faults.push(document.fault(at, 'every keypair is retired: nothing could sign for this role'));
  }
}

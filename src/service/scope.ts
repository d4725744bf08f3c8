import { type Call, paramsOf } from './call.ts';
import type { Keyring } from './keyring.ts';
import { ServiceProblem } from './problem.ts';
import { hasRelease, OWNER_ACCESS_KEY_VERSION } from './version.ts';

const PARAMETER = 'owner_access_key';

/**
 * The access key whose kernels and vfolders a request is about: the signer's own, or the one that an administrator names
 * by owner_access_key in the query or the body (service-api.md §4). Clients of an API version from before that
 * parameter get what they got then: it is not read. Who may not use it learns nothing of other keys, so privilege is
 * judged before existence. Throws `invalid-params`, `forbidden`, `not-found`.
 */
export function scopeOf(call: Call, keyring: Keyring): string {
  const own = call.caller.signer.keypair.accessKey;
  if (!hasRelease(call.caller.version, OWNER_ACCESS_KEY_VERSION)) return own;
  const owner = namedOwner(call);
  if (owner === undefined || owner === own) return own;
  if (!call.caller.signer.isAdmin) {
    throw new ServiceProblem('forbidden', `Only an administrator may name another ${PARAMETER}.`);
  }
  if (keyring.find(owner) === undefined) {
    throw new ServiceProblem('not-found', `The ${PARAMETER} is not known.`);
  }
  return owner;
}

function namedOwner(call: Call): string | undefined {
  const inBody = paramsOf(call)[PARAMETER];
  const named = new Set<unknown>(call.query.getAll(PARAMETER));
  if (inBody !== undefined && inBody !== null) named.add(inBody);
  const [owner] = named;
  if (owner === undefined) return undefined;
  if (named.size > 1) throw new ServiceProblem('invalid-params', `Two different values of ${PARAMETER} were given.`);
  if (typeof owner !== 'string') throw new ServiceProblem('invalid-params', `The ${PARAMETER} must be a text.`);
  return owner;
}

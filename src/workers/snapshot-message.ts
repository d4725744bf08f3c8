import type { Keypairs } from '../config/keypairs.ts';
import { type KeypairRefusal, KeypairRing, type RingMember } from '../keypair-ring.ts';
import { Secret } from '../secret.ts';
import type { Snapshot } from '../snapshot.ts';
import { Keypair, type RateFigures } from '../tenant.ts';

declare const packed: unique symbol;
/** A snapshot as plain data that node's channel between processes can carry, its secrets in the clear. */
export type PackedSnapshot = { readonly [packed]: true };

/** Names the class of an object that is none of plain data. No key of a configuration begins with a control character. */
const CLASS = '\u0000class';

interface PackedKeypair {
  readonly [CLASS]: 'keypair';
  readonly accessKey: string;
  readonly secretKey: string;
  readonly quota: RateFigures | undefined;
  readonly refusal: KeypairRefusal | undefined;
}

/**
 * Turns a snapshot into plain data. Workers get the configuration from the primary and read no file: what is on disk may
 * have changed since, and a worker that has to be replaced must start even while the file has faults.
 */
export function packSnapshot(snapshot: Snapshot): PackedSnapshot {
  const seen = new Map<object, unknown>();
  return pack(snapshot) as PackedSnapshot;

  function pack(value: unknown): unknown {
    if (typeof value === 'function' || typeof value === 'symbol') throw new TypeError('a snapshot holds data only');
    if (typeof value !== 'object' || value === null) return value;
    // Tenants stand in the snapshot more than once, and have to be the same again afterwards.
    const known = seen.get(value);
    if (known !== undefined) return known;
    const made = packObject(value);
    seen.set(value, made);
    return made;
  }

  function packObject(value: object): unknown {
    if (value instanceof Secret) return { [CLASS]: 'secret', text: value.reveal() };
    if (value instanceof Keypair) {
      const { accessKey, secretKey, quota, refusal } = value;
      return { [CLASS]: 'keypair', accessKey, secretKey: secretKey.reveal(), quota, refusal };
    }
    if (value instanceof KeypairRing) return { [CLASS]: 'ring', members: pack(value.members) };
    return mapped(value, pack);
  }
}

/** The snapshot again. Keypairs that `keypairs` knows are the same objects as before, so that what is known of them stays. */
export function unpackSnapshot(message: PackedSnapshot, keypairs: Keypairs): Snapshot {
  const seen = new Map<object, unknown>();
  let tenant = '';
  const { tenants } = message as unknown as { readonly tenants: readonly { readonly name: string }[] };
  for (const one of tenants) {
    tenant = one.name;
    unpack(one);
  }
  return unpack(message) as Snapshot;

  function unpack(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const known = seen.get(value);
    if (known !== undefined) return known;
    const made = unpackObject(value as { readonly [CLASS]?: string });
    seen.set(value, made);
    return made;
  }

  function unpackObject(value: { readonly [CLASS]?: string }): unknown {
    switch (value[CLASS]) {
      case 'secret':
        return new Secret((value as unknown as { text: string }).text);
      case 'keypair':
        return keypairOf(value as PackedKeypair);
      case 'ring':
        return new KeypairRing(unpack((value as unknown as { members: unknown }).members) as RingMember[]);
      default:
        return mapped(value, unpack);
    }
  }

  function keypairOf({ accessKey, secretKey, quota, refusal }: PackedKeypair): Keypair {
    const keypair = keypairs.get(tenant, accessKey, new Secret(secretKey));
    keypair.quota ??= quota;
    keypair.refusal ??= refusal;
    return keypair;
  }
}

/** The same array, map, set or plain object of what `change` makes of its parts; anything else is passed as it is. */
function mapped(value: object, change: (part: unknown) => unknown): object {
  if (Array.isArray(value)) return value.map(change);
  if (value instanceof Map) return new Map([...value].map(([key, part]) => [key, change(part)]));
  if (value instanceof Set) return new Set([...value].map(change));
  if (value instanceof Uint8Array || value instanceof Date) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError(`a snapshot cannot hold a ${value.constructor.name} that workers are to get`);
  }
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, change(part)]));
}

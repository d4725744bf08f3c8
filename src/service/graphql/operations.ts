import { randomBytes, randomUUID } from 'node:crypto';
import { Secret } from '../../secret.ts';
import type { KeypairRecord, Keyring } from '../keyring.ts';
import { changesOf, type GroupInput, type ModifyGroupInput } from './group-props.ts';
import { type Group, type Groups, MAX_GROUPS } from './groups.ts';

/** What the operations work on. */
export interface GroupRealm {
  readonly groups: Groups;
  readonly keyring: Keyring;
  readonly clock: () => number;
  /** Told when a group's keypair is gone, so that its kernels and vfolders go too. */
  readonly onKeypairRemoved: (accessKey: string) => void;
}

interface Outcome {
  readonly ok: boolean;
  readonly msg: string;
}

const SUCCESS: Outcome = { ok: true, msg: 'success' };
/** Base32: 16 of its characters are 80 random bits. */
const ACCESS_KEY_ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/**
 * The root value of the schema: one method per root field. Reading groups is open to every keypair, changing them to
 * administrators. A mutation never throws for the caller's mistakes: it says `ok: false` and why (service-api.md §4).
 */
export class Operations {
  readonly #realm: GroupRealm;
  readonly #signer: KeypairRecord;

  constructor(realm: GroupRealm, signer: KeypairRecord) {
    this.#realm = realm;
    this.#signer = signer;
  }

  groups(filter: { domain_name?: string | null; is_active?: boolean | null }): Group[] {
    return this.#realm.groups.list(filter.domain_name, filter.is_active);
  }

  group({ name }: { name: string }): Group | null {
    return this.#realm.groups.find(name) ?? null;
  }

  keypair() {
    return keypairView(this.#signer, null);
  }

  create_group({ name, props }: { name: string; props: GroupInput }) {
    if (!this.#signer.isAdmin) return notPermitted('create_group');
    const changes = changesOf({ ...props, name }, []);
    if (!changes.ok) return changes;
    const { groups, keyring, clock } = this.#realm;
    if (groups.find(name) !== undefined) return refuse(`group already exists: ${name}`);
    if (groups.size >= MAX_GROUPS) return refuse(`there can be ${MAX_GROUPS} groups`);

    const now = clock();
    const group: Group = {
      id: randomUUID(),
      name,
      description: null,
      is_active: true,
      domain_name: '',
      total_resource_slots: {},
      allowed_vfolder_hosts: [],
      integration_id: null,
      user_uuids: [],
      created_at: new Date(now).toISOString(),
      modified_at: new Date(now).toISOString(),
      access_key: newAccessKey(),
      ...changes.value,
    };
    const secret = randomBytes(30).toString('base64url');
    const given = {
      accessKey: group.access_key,
      secretKey: new Secret(secret),
      isAdmin: false,
      isActive: group.is_active,
    };
    const record = keyring.add(given, now);
    groups.add(group);
    return { ...SUCCESS, keypair: keypairView(record, secret) };
  }

  modify_group({ name, props }: { name: string; props: ModifyGroupInput }): Outcome {
    if (!this.#signer.isAdmin) return notPermitted('modify_group');
    const { groups, keyring, clock } = this.#realm;
    const group = groups.find(name);
    if (group === undefined) return refuse(`no such group: ${name}`);
    const changes = changesOf(props, group.user_uuids);
    if (!changes.ok) return changes;
    if (Object.keys(changes.value).length === 0) return refuse('nothing to change');
    const changed = { ...group, ...changes.value, modified_at: new Date(clock()).toISOString() };
    if (changed.name !== name && groups.find(changed.name) !== undefined) {
      return refuse(`group already exists: ${changed.name}`);
    }
    groups.replace(name, changed);
    const record = keyring.find(group.access_key);
    if (record !== undefined) record.isActive = changed.is_active;
    return SUCCESS;
  }

  delete_group({ name }: { name: string }): Outcome {
    if (!this.#signer.isAdmin) return notPermitted('delete_group');
    const { groups, keyring, onKeypairRemoved } = this.#realm;
    const group = groups.find(name);
    if (group === undefined) return refuse(`no such group: ${name}`);
    groups.remove(name);
    keyring.remove(group.access_key);
    onKeypairRemoved(group.access_key);
    return SUCCESS;
  }
}

function keypairView(record: KeypairRecord, secret: string | null) {
  return {
    access_key: record.keypair.accessKey,
    secret_key: secret,
    is_active: record.isActive,
    is_admin: record.isAdmin,
    created_at: new Date(record.createdAt).toISOString(),
    rate_limit: record.rateLimit,
  };
}

function newAccessKey(): string {
  const random = Array.from(randomBytes(16), (byte) => ACCESS_KEY_ALPHABET[byte & 31]);
  return `AKIA${random.join('')}`;
}

function notPermitted(operation: string): Outcome {
  return refuse(`no permission to execute ${operation}`);
}

function refuse(msg: string): Outcome {
  return { ok: false, msg };
}

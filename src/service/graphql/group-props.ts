import type { Group } from './groups.ts';
import { isResourceSlots } from './resource-slot.ts';

/** `GroupInput` as GraphQL coerced it. Null is the same as absent. */
export interface GroupInput {
  readonly description?: string | null;
  readonly is_active?: boolean | null;
  readonly domain_name?: string | null;
  /** The value of the JSON text. */
  readonly total_resource_slots?: unknown;
  readonly allowed_vfolder_hosts?: readonly (string | null)[] | null;
  readonly integration_id?: string | null;
}

/** `ModifyGroupInput` as GraphQL coerced it. Null is the same as absent. */
export interface ModifyGroupInput extends GroupInput {
  readonly name?: string | null;
  readonly user_update_mode?: string | null;
  readonly user_uuids?: readonly (string | null)[] | null;
}

/** What a group can be asked to become. */
export type GroupChanges = Partial<
  Pick<Group, Exclude<keyof Group, 'id' | 'created_at' | 'modified_at' | 'access_key'>>
>;

/** A `string` is the reason why the input is refused. */
export type Checked<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly msg: string };

const NAME = /^[^\p{Cc}]{1,64}$/u;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The fields that an input sets. `members` are the group's users so far. */
export function changesOf(input: ModifyGroupInput, members: readonly string[]): Checked<GroupChanges> {
  const { total_resource_slots: slots } = input;
  if (input.name != null && !NAME.test(input.name)) return refuse('name must be 1 to 64 printable characters');
  if (input.domain_name != null && !NAME.test(input.domain_name)) {
    return refuse('domain_name must be 1 to 64 printable characters');
  }
  if (slots != null && !isResourceSlots(slots)) {
    return refuse('total_resource_slots must be a JSON object of slot names and decimal strings');
  }
  const users = usersAfter(input, members);
  if (!users.ok) return users;
  return {
    ok: true,
    value: {
      ...(input.name != null && { name: input.name }),
      ...(input.description != null && { description: input.description }),
      ...(input.is_active != null && { is_active: input.is_active }),
      ...(input.domain_name != null && { domain_name: input.domain_name }),
      ...(slots != null && { total_resource_slots: slots }),
      ...(input.allowed_vfolder_hosts != null && { allowed_vfolder_hosts: present(input.allowed_vfolder_hosts) }),
      ...(input.integration_id != null && { integration_id: input.integration_id }),
      ...(users.value !== undefined && { user_uuids: users.value }),
    },
  };
}

/** user_update_mode `add` or `remove` with user_uuids; without a mode the members stay as they are. */
function usersAfter(input: ModifyGroupInput, members: readonly string[]): Checked<readonly string[] | undefined> {
  const { user_update_mode: mode } = input;
  if (mode == null) return { ok: true, value: undefined };
  if (mode !== 'add' && mode !== 'remove') return refuse('user_update_mode must be add, remove or null');
  const uuids = present(input.user_uuids ?? []);
  if (!uuids.every((uuid) => UUID.test(uuid))) return refuse('user_uuids must be a list of UUIDs');
  if (uuids.length === 0) return { ok: true, value: undefined };
  const named = new Set(uuids.map((uuid) => uuid.toLowerCase()));
  const kept = members.filter((member) => !named.has(member));
  return { ok: true, value: mode === 'add' ? [...kept, ...named] : kept };
}

function present(list: readonly (string | null)[]): string[] {
  return list.filter((item) => item !== null);
}

function refuse(msg: string): { readonly ok: false; readonly msg: string } {
  return { ok: false, msg };
}

import type { ResourceSlots } from './resource-slot.ts';

/** A group as it is kept: the fields of its inputs (service-api.md §2) and what the server adds. */
export interface Group {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly is_active: boolean;
  readonly domain_name: string;
  readonly total_resource_slots: ResourceSlots;
  readonly allowed_vfolder_hosts: readonly string[];
  readonly integration_id: string | null;
  readonly user_uuids: readonly string[];
  /** ISO 8601. */
  readonly created_at: string;
  readonly modified_at: string;
  /** Of the keypair that was made with the group. */
  readonly access_key: string;
}

/** Groups that one Service keeps: an administrator's mistake must not fill the memory. */
export const MAX_GROUPS = 10_000;

/** The groups of one Service. A name identifies a group across all domains, as the mutations give nothing but a name. */
export class Groups {
  readonly #byName = new Map<string, Group>();

  get size(): number {
    return this.#byName.size;
  }

  find(name: string): Group | undefined {
    return this.#byName.get(name);
  }

  /** Those that meet both filters; null or undefined filters nothing. */
  list(domain: string | null | undefined, isActive: boolean | null | undefined): Group[] {
    return [...this.#byName.values()].filter(
      (group) =>
        (domain ?? group.domain_name) === group.domain_name && (isActive ?? group.is_active) === group.is_active,
    );
  }

  add(group: Group): void {
    this.#byName.set(group.name, group);
  }

  /** Puts `changed` in the place of the group called `name`, whose name it may change. */
  replace(name: string, changed: Group): void {
    this.#byName.delete(name);
    this.#byName.set(changed.name, changed);
  }

  remove(name: string): void {
    this.#byName.delete(name);
  }
}

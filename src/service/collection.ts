import { ServiceProblem } from './problem.ts';

/** Items of one kind that one access key may hold, so that no client can fill the memory. */
const MAX_ITEMS = 10_000;

/** Keypair-scoped resources: every item belongs to the access key it was created under (service-api.md §1). */
export class Collection<T extends { readonly id: string }> {
  readonly #kind: string;
  readonly #scopes = new Map<string, Map<string, T>>();

  /** `kind` is what an item is called in error details. */
  constructor(kind: string) {
    this.#kind = kind;
  }

  /** Oldest first. */
  list(scope: string): readonly T[] {
    return [...(this.#scopes.get(scope)?.values() ?? [])];
  }

  /** Throws `not-found`, also for an item that belongs to another access key. */
  get(scope: string, id: string): T {
    const item = this.#scopes.get(scope)?.get(id);
    if (item === undefined) throw new ServiceProblem('not-found', `There is no such ${this.#kind}.`);
    return item;
  }

  /** Throws `quota-exceeded`. */
  add(scope: string, item: T): void {
    const items = this.#scopes.get(scope) ?? new Map<string, T>();
    if (items.size >= MAX_ITEMS) {
      throw new ServiceProblem('quota-exceeded', `A keypair may hold ${MAX_ITEMS} ${this.#kind}s.`);
    }
    items.set(item.id, item);
    this.#scopes.set(scope, items);
  }

  remove(scope: string, id: string): void {
    this.#scopes.get(scope)?.delete(id);
  }

  removeScope(scope: string): void {
    this.#scopes.delete(scope);
  }

  scopes(): readonly string[] {
    return [...this.#scopes.keys()];
  }
}

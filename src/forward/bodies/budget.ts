/** Bytes that all request bodies of a gateway may take up in one place. */
export class Budget {
  readonly capacity: number;
  #used = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get used(): number {
    return this.#used;
  }

  /** Whether there was room for so many bytes, which are taken then. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.capacity) return false;
    this.#used += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#used -= bytes;
  }
}

/** How much is taken of what there is, in bytes. */
export type BudgetFigures = Pick<Budget, 'used' | 'capacity'>;

export interface Budgets {
  readonly memory: Budget;
  readonly disk: Budget;
}

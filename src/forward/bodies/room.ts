import type { Budgets } from './budget.ts';
import type { Spool } from './spool.ts';

/** What one body takes up: its share of the budgets, and its file. Whatever becomes of the body, `leave` ends all of it. */
export class Room {
  readonly #budgets: Budgets;
  #memory = 0;
  #disk = 0;
  #spool: Spool | undefined;

  constructor(budgets: Budgets) {
    this.#budgets = budgets;
  }

  takeMemory(bytes: number): boolean {
    if (!this.#budgets.memory.take(bytes)) return false;
    this.#memory += bytes;
    return true;
  }

  takeDisk(bytes: number): boolean {
    if (!this.#budgets.disk.take(bytes)) return false;
    this.#disk += bytes;
    return true;
  }

  /** From now on the body is in a file and no longer in memory. */
  moveTo(spool: Spool): void {
    this.#spool = spool;
    this.#budgets.memory.give(this.#memory);
    this.#memory = 0;
  }

  /** Without effect the second time. */
  leave(): void {
    this.#budgets.memory.give(this.#memory);
    this.#budgets.disk.give(this.#disk);
    this.#memory = this.#disk = 0;
    this.#spool?.close();
    this.#spool = undefined;
  }
}

import type { BodySource } from '../../http1/wire.ts';
import type { Problem } from '../../problem.ts';
import { storageFailed } from './refusals.ts';
import type { Spool } from './spool.ts';

/** Reads a spooled body from its start. `onFailed` hears with `insufficient-storage` that there will be no more of it. */
export class SpoolReader implements BodySource {
  readonly #spool: Spool;
  readonly #length: number;
  readonly #onFailed: (problem: Problem) => void;
  #position = 0;

  constructor(spool: Spool, length: number, onFailed: (problem: Problem) => void) {
    this.#spool = spool;
    this.#length = length;
    this.#onFailed = onFailed;
  }

  read(buffer: Buffer, done: (length: number) => void): void {
    if (this.#position === this.#length) {
      done(0);
      return;
    }
    this.#spool.read(buffer, this.#position, (error, length) => {
      if (error !== undefined) {
        this.#onFailed(storageFailed(error));
        return;
      }
      this.#position += length;
      done(length);
    });
  }
}

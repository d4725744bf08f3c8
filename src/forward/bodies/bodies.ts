import { constants } from 'node:buffer';
import type { Admission, Permit } from '../../exchange.ts';
import { decide } from '../../policy/decide.ts';
import type { BodySettings } from '../../snapshot.ts';
import { bodyTooLarge } from '../body.ts';
import { Budget, type Budgets } from './budget.ts';
import type { ReceivedBody } from './received.ts';
import { noRoom } from './refusals.ts';
import { Room } from './room.ts';
import { Spool, type SpoolListener } from './spool.ts';
import { type Storage, Upload } from './upload.ts';

/** The request bodies that a gateway holds until they are hashed and sent, and what they may take up together. */
export class Bodies implements Storage {
  readonly budgets: Budgets;
  readonly inMemory: number | undefined;
  readonly #folder: string;
  readonly #onTrouble: (error: Error) => void;
  /** A body that is judged as a whole may be this large, in bytes. */
  readonly #largestWhole: number;
  #lastTurn: Promise<unknown> = Promise.resolve();

  /** `onTrouble` hears of what the temporary folder refuses, for the log. */
  constructor({ inMemory, memory, disk, folder }: BodySettings, onTrouble: (error: Error) => void) {
    const hasDisk = folder !== undefined && disk > 0;
    this.budgets = { memory: new Budget(memory), disk: new Budget(hasDisk ? disk : 0) };
    this.inMemory = hasDisk ? inMemory : undefined;
    this.#folder = folder ?? '';
    this.#onTrouble = onTrouble;
    this.#largestWhole = Math.min(memory, constants.MAX_STRING_LENGTH);
  }

  /**
   * Makes room for the body of an admitted request, for all of it where its length is declared. Throws Problem
   * `body-too-large` or `insufficient-storage`, before anything of it has been asked for.
   */
  expect(admission: Admission): Upload {
    const { inbound, route } = admission;
    const limit = route.graphql === undefined ? route.maxBody : Math.min(route.maxBody, this.#largestWhole);
    const room = new Room(this.budgets);
    if (inbound.body.kind !== 'sized') return new Upload(admission, this, room, limit, 'as it grows');
    const { length } = inbound.body;
    if (length > limit) throw bodyTooLarge(limit);
    const isSmall = this.inMemory === undefined || length <= this.inMemory;
    if (isSmall && room.takeMemory(length)) return new Upload(admission, this, room, limit, 'in memory');
    if (room.takeDisk(length)) return new Upload(admission, this, room, limit, 'in a file');
    throw noRoom(false);
  }

  /**
   * What policy says to a received body, or to none. A promise only where all of the body is needed and it is not in one
   * piece: such bodies are put together one at a time. A body that is refused is released. Throws and rejects as `decide`
   * does, and with Problem `body-too-large` or `insufficient-storage`.
   */
  judge(admission: Admission, received: ReceivedBody | undefined): Permit | Promise<Permit> {
    if (received === undefined || !admission.inspectsBody) return decide(admission, undefined);
    try {
      const { content, search, length } = received;
      if (content instanceof Buffer) return decide(admission, content);
      if (search !== undefined && !search.found) return decide(admission, search);
      if (length > this.#largestWhole) throw bodyTooLarge(this.#largestWhole);
      return this.#judgeWhole(admission, received);
    } catch (refusal) {
      received.release();
      throw refusal;
    }
  }

  async #judgeWhole(admission: Admission, received: ReceivedBody): Promise<Permit> {
    const turn = this.#lastTurn.then(() => received.whole().then((bytes) => decide(admission, bytes)));
    this.#lastTurn = turn.catch(() => received.release());
    return turn;
  }

  createSpool(listener: SpoolListener): Spool {
    return new Spool(this.#folder, listener, this.#onTrouble);
  }
}

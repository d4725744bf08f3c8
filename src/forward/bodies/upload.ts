import { createHash, type Hash, hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Admission } from '../../exchange.ts';
import { searchBody } from '../../policy/decide.ts';
import type { OwnerKeySearch } from '../../policy/owner-key-search.ts';
import { EMPTY_BODY_HASH } from '../../signing/canonical.ts';
import { bodyTooLarge, reasonOf } from '../body.ts';
import { Pieces } from './pieces.ts';
import { ReceivedBody } from './received.ts';
import { noRoom, storageFailed } from './refusals.ts';
import type { Room } from './room.ts';
import type { Spool, SpoolListener } from './spool.ts';

/** Bytes that may wait for the disk before the client is made to wait. */
const HIGH_WATER = 64 * 1024;

/**
 * How room is made for a body: for all of it `in memory` or `in a file` before it comes, or, where nobody knows how long it
 * is, `as it grows`, from memory into a file.
 */
export type Plan = 'in memory' | 'in a file' | 'as it grows';

/** What the gateway has for its bodies. */
export interface Storage {
  /** A body up to so many bytes is held in memory, a larger one in a file; undefined where there are no files. */
  readonly inMemory: number | undefined;
  createSpool(listener: SpoolListener): Spool;
}

/** One request body on its way in: hashed as it arrives, held in memory or written to a file. */
export class Upload implements SpoolListener {
  readonly #admission: Admission;
  readonly #storage: Storage;
  readonly #room: Room;
  readonly #limit: number;
  readonly #plan: Plan;
  #request: IncomingMessage | undefined;
  #resolve: (received: ReceivedBody) => void = ignore;
  #reject: (reason: Error) => void = ignore;
  #length = 0;
  /** The first chunk, while it is the only one: one call hashes it at less than half the price of a hash object. */
  #only: Buffer | undefined;
  #pieces: Pieces | undefined;
  #held: Buffer[] = [];
  #digest: Hash | undefined;
  #search: OwnerKeySearch | undefined;
  #spool: Spool | undefined;
  #hasEnded = false;

  /** `room` has been made for a body of known length, which may be `limit` bytes. */
  constructor(admission: Admission, storage: Storage, room: Room, limit: number, plan: Plan) {
    this.#admission = admission;
    this.#storage = storage;
    this.#room = room;
    this.#limit = limit;
    this.#plan = plan;
    if (plan === 'in a file') this.#startSpool();
  }

  /** Rejects with Problem `body-too-large` or `insufficient-storage`, or with `ClientGone`; nothing is kept then. */
  receive(request: IncomingMessage): Promise<ReceivedBody> {
    this.#request = request;
    const received = new Promise<ReceivedBody>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // An error event always comes with a close event; without a listener it would end the process.
    request.on('error', ignore).on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onGone);
    // While its head was being judged: no event will tell.
    if (request.destroyed) this.#onGone();
    return received;
  }

  onWritten(): void {
    if (this.#hasEnded) this.#received(this.#spool as Spool);
    else this.#request?.resume();
  }

  onFailed(error: Error): void {
    this.#fail(storageFailed(error));
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#length += chunk.length;
    if (this.#length > this.#limit) this.#fail(bodyTooLarge(this.#limit));
    else if (this.#plan === 'as it grows' && !this.#makeRoom(chunk.length)) this.#fail(noRoom(true));
    else if (this.#length === chunk.length && this.#spool === undefined) this.#only = chunk;
    else this.#add(chunk);
  };

  readonly #onEnd = (): void => {
    this.#detach();
    if (this.#pieces === undefined) {
      const bytes = this.#only;
      if (bytes === undefined) this.#resolve(new ReceivedBody(0, EMPTY_BODY_HASH, EMPTY, undefined, this.#room));
      else this.#resolve(new ReceivedBody(bytes.length, hash('sha256', bytes, 'hex'), bytes, undefined, this.#room));
      return;
    }
    this.#store(this.#pieces.take(true));
    this.#hasEnded = true;
    if (this.#spool === undefined) this.#received(this.#held);
    else if (this.#spool.backlog === 0) this.#received(this.#spool);
  };

  readonly #onGone = (): void => {
    if (this.#request !== undefined) this.#fail(reasonOf(this.#request));
  };

  /** Room for what nobody announced; with its growing the body may have to move to a file. */
  #makeRoom(bytes: number): boolean {
    if (this.#spool !== undefined) return this.#room.takeDisk(bytes);
    const { inMemory } = this.#storage;
    if (inMemory === undefined || this.#length <= inMemory) {
      if (this.#room.takeMemory(bytes)) return true;
      if (inMemory === undefined) return false;
    }
    if (!this.#room.takeDisk(this.#length)) return false;
    this.#startSpool();
    return true;
  }

  #startSpool(): void {
    this.#spool = this.#storage.createSpool(this);
    this.#room.moveTo(this.#spool);
    this.#spool.write(this.#held);
    this.#held = [];
  }

  #startPieces(): Pieces {
    this.#digest = createHash('sha256');
    this.#search = searchBody(this.#admission);
    const pieces = new Pieces();
    if (this.#only !== undefined) pieces.add(this.#only);
    this.#only = undefined;
    return pieces;
  }

  #add(chunk: Buffer): void {
    this.#pieces ??= this.#startPieces();
    this.#pieces.add(chunk);
    this.#store(this.#pieces.take(false));
    if (this.#spool !== undefined && this.#spool.backlog > HIGH_WATER) this.#request?.pause();
  }

  #store(pieces: readonly Buffer[]): void {
    for (const piece of pieces) {
      this.#digest?.update(piece);
      this.#search?.update(piece);
      if (this.#spool === undefined) this.#held.push(piece);
    }
    this.#spool?.write(pieces);
  }

  #received(content: Spool | readonly Buffer[]): void {
    const digest = (this.#digest as Hash).digest('hex');
    this.#resolve(new ReceivedBody(this.#length, digest, content, this.#search, this.#room));
  }

  #fail(reason: Error): void {
    this.#detach();
    this.#room.leave();
    this.#reject(reason);
  }

  #detach(): void {
    this.#request?.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onGone);
  }
}

const EMPTY = Buffer.alloc(0);

function ignore(): void {}

import type { BodySource } from '../../http1/wire.ts';
import type { OwnerKeySearch } from '../../policy/owner-key-search.ts';
import type { Problem } from '../../problem.ts';
import { storageFailed } from './refusals.ts';
import type { Room } from './room.ts';
import { Spool } from './spool.ts';
import { SpoolReader } from './spool-reader.ts';

/** Where the bytes of a body are: in memory, in one piece or several, or in a file. */
export type Content = Buffer | readonly Buffer[] | Spool;

/** A request body that has been received whole. Somebody must release it. */
export class ReceivedBody {
  /** Bytes. */
  readonly length: number;
  /** Lowercase hex SHA-256. */
  readonly hash: string;
  readonly content: Content;
  /** What was found in it as it arrived; undefined where nothing was looked for by then. */
  readonly search: OwnerKeySearch | undefined;
  readonly #room: Room;

  constructor(length: number, hash: string, content: Content, search: OwnerKeySearch | undefined, room: Room) {
    this.length = length;
    this.hash = hash;
    this.content = content;
    this.search = search;
    this.#room = room;
  }

  /** All of it to be sent, from its start at each call; `onFailed` hears with Problem `insufficient-storage`. */
  open(onFailed: (problem: Problem) => void): Buffer | readonly Buffer[] | BodySource {
    const { content } = this;
    return content instanceof Spool ? new SpoolReader(content, this.length, onFailed) : content;
  }

  /** All of it in one buffer. Rejects with Problem `insufficient-storage`. */
  async whole(): Promise<Buffer> {
    const { content, length } = this;
    if (!(content instanceof Spool))
      return Array.isArray(content) ? Buffer.concat(content, length) : (content as Buffer);
    const bytes = Buffer.allocUnsafeSlow(length);
    let filled = 0;
    while (filled < length) filled += await readInto(bytes.subarray(filled), content, filled);
    return bytes;
  }

  /** Nobody needs it any more. Without effect the second time. */
  release(): void {
    this.#room.leave();
  }
}

function readInto(buffer: Buffer, spool: Spool, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    spool.read(buffer, position, (error, length) => {
      if (error === undefined) resolve(length);
      else reject(storageFailed(error));
    });
  });
}

import { randomUUID } from 'node:crypto';
import { close, open, read, unlink, writev } from 'node:fs';
import { join } from 'node:path';

/** Hears of the one file that a body is written to. After `onFailed` nothing more is heard. */
export interface SpoolListener {
  /** All that was to be written has been. */
  onWritten(): void;
  onFailed(error: NodeJS.ErrnoException): void;
}

/**
 * A file without a name: it is unlinked before the first byte is written, so that the system removes it however this
 * process ends. Written once from start to end, read as often as one likes.
 */
export class Spool {
  #listener: SpoolListener | undefined;
  readonly #onTrouble: (error: Error) => void;
  #fd: number | undefined;
  /** Operations under way: the file is not closed beneath them, for its number could be another file's by then. */
  #pending = 1;
  #writing = true;
  #queue: Buffer[] = [];
  #queued = 0;
  #closed = false;

  /** `onTrouble` hears of every operation that failed, for the log. */
  constructor(folder: string, listener: SpoolListener, onTrouble: (error: Error) => void) {
    this.#listener = listener;
    this.#onTrouble = onTrouble;
    const path = join(folder, `countersign-${randomUUID()}`);
    open(path, 'wx+', 0o600, (error, fd) => {
      if (error) return this.#written(error);
      this.#fd = fd;
      unlink(path, (failed) => this.#written(failed));
    });
  }

  /** Bytes that wait to be written, those under way included. */
  get backlog(): number {
    return this.#queued;
  }

  /** The pieces belong to the file from now on. */
  write(pieces: readonly Buffer[]): void {
    for (const piece of pieces) {
      this.#queue.push(piece);
      this.#queued += piece.length;
    }
    if (!this.#writing && this.#queued > 0) this.#writeQueue();
  }

  /** Reads what has been written, from `position` on: at least one byte, at most what `buffer` takes. */
  read(buffer: Buffer, position: number, done: (error: Error | undefined, length: number) => void): void {
    if (this.#closed || this.#fd === undefined) {
      done(new Error('the file of the body has been closed'), 0);
      return;
    }
    this.#pending++;
    read(this.#fd, buffer, 0, buffer.length, position, (failed, length) => {
      this.#over();
      const error = failed ?? (length === 0 ? new Error('the file of the body ends too early') : undefined);
      if (error !== undefined) this.#onTrouble(error);
      done(error, length);
    });
  }

  /** The file is gone, once what is under way is over. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#listener = undefined;
    this.#queue = [];
    this.#pending++;
    this.#over();
  }

  #writeQueue(): void {
    const batch = this.#queue;
    this.#queue = [];
    this.#writing = true;
    this.#pending++;
    this.#writeBatch(batch);
  }

  #writeBatch(batch: readonly Buffer[]): void {
    writev(this.#fd as number, batch, null, (error, length) => {
      this.#queued -= length ?? 0;
      const rest = error ? [] : behind(batch, length);
      // What did not fit is tried again, to learn why.
      if (rest.length > 0 && !this.#closed) return this.#writeBatch(rest);
      free(batch);
      this.#written(error);
    });
  }

  #written(error: NodeJS.ErrnoException | null): void {
    this.#writing = false;
    this.#over();
    if (this.#closed) return;
    if (error) {
      const listener = this.#listener;
      this.close();
      this.#onTrouble(error);
      listener?.onFailed(error);
    } else if (this.#queue.length > 0) {
      this.#writeQueue();
    } else {
      this.#listener?.onWritten();
    }
  }

  #over(): void {
    this.#pending--;
    if (!this.#closed || this.#pending > 0 || this.#fd === undefined) return;
    close(this.#fd, () => undefined);
    this.#fd = undefined;
  }
}

/**
 * Gives back the memory of what has been written. The collector, to which a buffer is a small object, would leave a hundred
 * megabytes of them lying about in a large upload; this is less work for it too.
 */
function free(pieces: readonly Buffer[]): void {
  for (const { buffer, byteLength } of pieces) {
    if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
  }
}

/** The pieces without their first `length` bytes. */
function behind(pieces: readonly Buffer[], length: number): Buffer[] {
  const rest: Buffer[] = [];
  let skipped = length;
  for (const piece of pieces) {
    if (skipped < piece.length) rest.push(skipped === 0 ? piece : piece.subarray(skipped));
    skipped = Math.max(0, skipped - piece.length);
  }
  return rest;
}

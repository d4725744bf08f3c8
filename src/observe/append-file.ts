import { closeSync, constants, openSync, write, writeSync } from 'node:fs';
import type { AuditSink } from './audit.ts';

const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants;
/** A FIFO without a reader is an error at once instead of a process that hangs. */
const FLAGS = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK;
/** Readable by a log shipper's group, by nobody else. */
const MODE = 0o640;
const NEWLINE = 0x0a;
/** Lines are gathered for at most this long before they are written, in milliseconds. */
const GATHER = 100;
/** After a write that failed, in milliseconds. */
const RETRY = 1000;
/** Held at most, in characters, while the file cannot be written. */
const HELD = 1_048_576;

export interface AppendFileOptions {
  /** A path, or the descriptor of a stream that is open already and stays so. */
  readonly file: string | number;
  /** Called once when writing begins to fail, whatever happens while it goes on failing. */
  readonly onFailure: (error: Error) => void;
  /** Called when it works again, with the number of lines lost meanwhile; gives a line to write in their place. */
  readonly onRecovery: (lost: number) => string | undefined;
}

/**
 * Appends lines to a file without ever keeping the caller waiting: one asynchronous write at a time, in order. While
 * writing fails lines are held, up to a bound, and tried again. Opening throws what `openSync` does.
 */
export class AppendFile implements AuditSink {
  readonly #options: AppendFileOptions;
  #descriptor: number;
  /** A descriptor that takes over once no write is under way. */
  #next: number | undefined;
  #lines: string[] = [];
  #held = 0;
  #lost = 0;
  /** What is being written, and how far it has come. */
  #chunk = Buffer.alloc(0);
  #written = 0;
  #isWriting = false;
  #isFailing = false;
  #timer: NodeJS.Timeout | undefined;
  #waiting: (() => void)[] = [];
  readonly #atExit = () => this.#writeRest();

  constructor(options: AppendFileOptions) {
    this.#options = options;
    this.#descriptor = typeof options.file === 'number' ? options.file : openSync(options.file, FLAGS, MODE);
    process.once('exit', this.#atExit);
  }

  write(line: string): void {
    if (this.#held + line.length > HELD) {
      this.#lost++;
      return;
    }
    this.#lines.push(line);
    this.#held += line.length + 1;
    this.#later(GATHER);
  }

  reopen(): void {
    const { file } = this.#options;
    if (typeof file === 'number') return;
    try {
      const next = openSync(file, FLAGS, MODE);
      if (this.#next !== undefined) closeSync(this.#next);
      this.#next = next;
    } catch (error) {
      // The old one stays: better a line in a file that was moved away than none.
      this.#failed(error as Error);
    }
    if (!this.#isWriting) this.#work();
  }

  flush(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#isWriting) this.#work();
    });
  }

  async close(): Promise<void> {
    await this.flush();
    clearTimeout(this.#timer);
    process.off('exit', this.#atExit);
    if (typeof this.#options.file === 'string') closeSync(this.#descriptor);
  }

  #later(delay: number): void {
    if (this.#isWriting || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => this.#work(), delay).unref();
  }

  /** Writes what there is; ends with nothing left, or with a failure and a timer. */
  #work(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#takeOver();
    if (this.#written === this.#chunk.length) this.#gather();
    if (this.#chunk.length === 0) {
      this.#settle();
      return;
    }
    this.#isWriting = true;
    write(this.#descriptor, this.#chunk, this.#written, this.#chunk.length - this.#written, null, (error, bytes) => {
      this.#isWriting = false;
      if (error !== null) {
        // A pipe that is full at the moment is no failure.
        if (error.code !== 'EAGAIN') this.#failed(error);
        this.#settle();
        this.#later(error.code === 'EAGAIN' ? GATHER : RETRY);
        return;
      }
      this.#written += bytes;
      if (this.#isFailing || this.#lost > 0) this.#recovered();
      this.#work();
    });
  }

  #takeOver(): void {
    if (this.#next === undefined) return;
    closeSync(this.#descriptor);
    this.#descriptor = this.#next;
    this.#next = undefined;
    // A line that was written in part is in the old file: the new one gets it whole.
    this.#written = this.#chunk.subarray(0, this.#written).lastIndexOf(NEWLINE) + 1;
  }

  #gather(): void {
    this.#written = 0;
    this.#held = 0;
    const lines = this.#lines;
    this.#lines = [];
    this.#chunk = lines.length === 0 ? Buffer.alloc(0) : Buffer.from(`${lines.join('\n')}\n`, 'utf8');
  }

  #failed(error: Error): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#options.onFailure(error);
  }

  #recovered(): void {
    this.#isFailing = false;
    const line = this.#options.onRecovery(this.#lost);
    this.#lost = 0;
    if (line !== undefined) this.#lines.push(line);
  }

  #settle(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  /** The process ends without having closed the file: what is left is written while there is still time. */
  #writeRest(): void {
    if (this.#isWriting) this.#written = this.#chunk.length;
    const chunk = this.#chunk.subarray(this.#written);
    this.#gather();
    try {
      writeSync(this.#descriptor, chunk);
      writeSync(this.#descriptor, this.#chunk);
    } catch {
      // Nobody is left to tell.
    }
  }
}

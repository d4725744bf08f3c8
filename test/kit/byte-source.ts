import type { Socket } from 'node:net';

/** Pulls bytes from a socket on demand. What is waited for and never comes is `undefined`, never a shorter buffer. */
export class ByteSource {
  readonly #socket: Socket;
  #chunks: Buffer[] = [];
  #length = 0;
  #ended = false;
  #broken = false;
  #wake: () => void = () => {};
  readonly #onData = (chunk: Buffer) => {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    this.#wake();
  };
  readonly #onEnd = () => {
    this.#ended = true;
    this.#wake();
  };
  readonly #onError = () => {
    this.#broken = true;
    this.#onEnd();
  };

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onEnd).on('error', this.#onError);
  }

  /** Bytes that have arrived and were not read. */
  get buffered(): number {
    return this.#length;
  }

  /** The peer reset the connection instead of finishing it. */
  get broken(): boolean {
    return this.#broken;
  }

  /** Bytes up to and including `mark`. */
  async until(mark: string, limit = 1 << 20): Promise<Buffer | undefined> {
    for (;;) {
      const all = this.#join();
      const at = all.indexOf(mark, 0, 'latin1');
      if (at !== -1) return this.#take(at + mark.length);
      if (all.length > limit || !(await this.#more())) return undefined;
    }
  }

  async exactly(count: number): Promise<Buffer | undefined> {
    while (this.#length < count) if (!(await this.#more())) return undefined;
    return this.#take(count);
  }

  /** The next bytes, as many as have arrived; undefined at the end. */
  async some(): Promise<Buffer | undefined> {
    while (this.#length === 0) if (!(await this.#more())) return undefined;
    return this.#take(this.#length);
  }

  /** Everything until the peer closes. */
  async rest(): Promise<Buffer> {
    while (await this.#more());
    return this.#take(this.#length);
  }

  /** Stops reading and gives what was not read, so that somebody else can take the socket over in the same turn. */
  detach(): Buffer {
    this.#socket.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onEnd);
    return this.#take(this.#length);
  }

  async #more(): Promise<boolean> {
    if (this.#ended) return false;
    const before = this.#length;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    return this.#length > before || !this.#ended;
  }

  #join(): Buffer {
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] as Buffer;
  }

  #take(count: number): Buffer {
    const all = this.#join();
    this.#chunks = count < all.length ? [all.subarray(count)] : [];
    this.#length = all.length - count;
    return all.subarray(0, count);
  }
}

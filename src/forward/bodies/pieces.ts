/** A piece smaller than this is copied into a block with others, in bytes. */
const SMALL = 4096;
const BLOCK = 16 * 1024;

/**
 * The bytes of a body in the pieces they came in. Small pieces are joined: a body in chunks of one byte would otherwise
 * take a hundred times its size in buffer objects.
 */
export class Pieces {
  #whole: Buffer[] = [];
  #block: Buffer | undefined;
  /** The part of the block that is filled and not yet a piece of its own. */
  #from = 0;
  #to = 0;

  /** Adds bytes that stay as they are from now on. */
  add(bytes: Buffer): void {
    if (bytes.length >= SMALL) {
      this.#closePiece();
      this.#whole.push(bytes);
      return;
    }
    let rest = bytes;
    while (rest.length > 0) {
      this.#block ??= Buffer.allocUnsafeSlow(BLOCK);
      const copied = rest.copy(this.#block, this.#to);
      this.#to += copied;
      rest = rest.subarray(copied);
      if (this.#to === BLOCK) {
        this.#closePiece();
        this.#block = undefined;
        this.#from = this.#to = 0;
      }
    }
  }

  /** Takes out the pieces that are whole; with `last` also the one that could still grow. */
  take(last: boolean): Buffer[] {
    if (last) this.#closePiece();
    const pieces = this.#whole;
    if (pieces.length > 0) this.#whole = [];
    return pieces;
  }

  #closePiece(): void {
    if (this.#block === undefined || this.#from === this.#to) return;
    this.#whole.push(this.#block.subarray(this.#from, this.#to));
    this.#from = this.#to;
  }
}

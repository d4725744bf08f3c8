/** What one read of a connection takes at the most, in bytes. */
const USUAL = 64 * 1024;
/** The same where much comes at a time: fewer reads, fewer writes. */
const LARGE = 256 * 1024;
/** Large buffers kept for the next stream. */
const SPARE = 32;

/**
 * The bytes of most responses are used up before the next read, whichever connection that is on, so all connections read
 * into this one.
 */
export const SHARED_READ_BUFFER = Buffer.allocUnsafeSlow(USUAL);

const spare: ArrayBufferLike[] = [];

/** A buffer of its own for a connection whose bytes are still being written elsewhere when the next ones arrive. */
export function takeReadBuffer(): Buffer {
  return Buffer.from(spare.pop() ?? new ArrayBuffer(LARGE));
}

/** Bytes that last until their memory is given back, in a buffer that is used again: fresh memory costs more than the copy. */
export function copyOf(chunk: Buffer): Buffer {
  const buffer = takeReadBuffer();
  return buffer.subarray(0, chunk.copy(buffer));
}

/** Whether it is one of those taken here, and not a copy of something smaller. */
export function isLargeReadBuffer(memory: ArrayBufferLike): boolean {
  return memory.byteLength === LARGE;
}

/** Call when nothing looks into the buffer any more. */
export function giveReadBuffer(memory: ArrayBufferLike): void {
  if (spare.length < SPARE) spare.push(memory);
}

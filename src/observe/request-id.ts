import { randomFillSync } from 'node:crypto';

const BYTES = 16;
const pool = Buffer.allocUnsafe(BYTES * 256);
let offset = pool.length;

/** 32 lowercase hex digits: the request's id, fit to be a trace id as well (W3C Trace Context §3.2.2.3). */
export function newRequestId(): string {
  return take(BYTES);
}

/** 16 lowercase hex digits: the id of a span of the gateway's own. */
export function newSpanId(): string {
  return take(8);
}

/** Random bytes are drawn a page at a time: a call into the kernel's generator costs more than the rest of an id. */
function take(length: number): string {
  if (offset + length > pool.length) {
    randomFillSync(pool);
    offset = 0;
  }
  const id = pool.toString('hex', offset, offset + length);
  offset += length;
  return id;
}

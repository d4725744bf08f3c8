import { randomFillSync } from 'node:crypto';

/** Hexadecimal digits drawn at a time: a call into the kernel's generator, and one to encode, cost more than the rest of an id. */
const DRAWN = 8192;
const bytes = Buffer.allocUnsafeSlow(DRAWN / 2);
let digits = '';
let used = 0;

/** 32 lowercase hex digits: the request's id, fit to be a trace id as well (W3C Trace Context §3.2.2.3). */
export function newRequestId(): string {
  return take(32);
}

/** 16 lowercase hex digits: the id of a span of the gateway's own. */
export function newSpanId(): string {
  return take(16);
}

function take(length: number): string {
  if (used + length > digits.length) {
    digits = randomFillSync(bytes).toString('hex');
    used = 0;
  }
  used += length;
  return digits.slice(used - length, used);
}

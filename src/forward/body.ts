import { createHash, hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import { Problem } from '../problem.ts';
import { EMPTY_BODY_HASH } from '../signing/canonical.ts';

/** A request body in memory. */
export interface ReceivedBody {
  readonly bytes: Buffer;
  /** Lowercase hex SHA-256. */
  readonly hash: string;
}

export const EMPTY_BODY: ReceivedBody = { bytes: Buffer.alloc(0), hash: EMPTY_BODY_HASH };

/** The client left before its request was whole: nothing is sent upstream and nobody is there to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/**
 * Receives a body of at most `limit` bytes, hashing each chunk as it arrives. Rejects with Problem `body-too-large`, or
 * with `ClientGone`.
 */
export function receiveBody(request: IncomingMessage, limit: number): Promise<ReceivedBody> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    let digest: ReturnType<typeof createHash> | undefined;

    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length > limit) return fail(bodyTooLarge(limit));
      chunks.push(chunk);
      // The usual body is one chunk, which one call hashes at less than half the price of a hash object.
      if (chunks.length < 2) return;
      digest ??= createHash('sha256').update(chunks[0] as Buffer);
      digest.update(chunk);
    };
    const onEnd = () => {
      detach();
      const first = chunks[0];
      if (first === undefined) return resolve(EMPTY_BODY);
      if (digest === undefined) return resolve({ bytes: first, hash: hash('sha256', first, 'hex') });
      resolve({ bytes: Buffer.concat(chunks, length), hash: digest.digest('hex') });
    };
    const onGone = () => fail(reasonOf(request));
    const fail = (reason: Error) => {
      detach();
      reject(reason);
    };
    const detach = () => {
      request.off('data', onData).off('end', onEnd).off('close', onGone);
    };
    if (request.destroyed) return reject(reasonOf(request));
    // An error event always comes with a close event; without a listener it would end the process.
    request.on('error', () => undefined);
    request.on('data', onData).on('end', onEnd).on('close', onGone);
  });
}

/** A body that passes straight through, cut off with `body-too-large` once it exceeds `limit` bytes. */
export function limitedBody(request: IncomingMessage, limit: number): Transform {
  let length = 0;
  const limited = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      length += chunk.length;
      if (length > limit) done(bodyTooLarge(limit));
      else done(null, chunk);
    },
  });
  request.on('error', () => undefined);
  request.once('close', () => {
    if (!request.complete) limited.destroy(reasonOf(request));
  });
  return request.pipe(limited);
}

/** Why a request ended before its body did: by the listener's own Problem, or by its client. */
function reasonOf({ errored }: IncomingMessage): Error {
  return errored instanceof Problem ? errored : new ClientGone('the client left in the middle of its request');
}

export function bodyTooLarge(limit: number): Problem {
  return new Problem('body-too-large', `This route takes bodies of at most ${limit} bytes.`, { close: true });
}

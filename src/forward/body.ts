import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import { Problem } from '../problem.ts';

/** The client left before its request was whole: nothing is sent upstream and nobody is there to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
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
  // While its head was being judged: no event will tell.
  if (request.destroyed && !request.complete) limited.destroy(reasonOf(request));
  return request.pipe(limited);
}

/** Why a request ended before its body did: by the listener's own Problem, or by its client. */
export function reasonOf({ errored }: IncomingMessage): Error {
  return errored instanceof Problem ? errored : new ClientGone('the client left in the middle of its request');
}

export function bodyTooLarge(limit: number): Problem {
  return new Problem('body-too-large', `This route takes bodies of at most ${limit} bytes.`, { close: true });
}

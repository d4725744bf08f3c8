import type { IncomingMessage } from 'node:http';
import { ServiceProblem } from './problem.ts';

/**
 * Reads a request body whole, up to `limit` bytes. Rejects with `body-too-large`, at once where Content-Length says so;
 * the connection is closed then, because the rest of the body is still under way. Rejects with the stream's error when
 * the client leaves.
 */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > limit) {
        chunks.length = 0;
        reject(tooLarge(limit));
      } else chunks.push(chunk);
    });
    request.once('end', () => resolve(Buffer.concat(chunks)));
    request.once('error', reject);
  });
}

function tooLarge(limit: number): ServiceProblem {
  return new ServiceProblem('body-too-large', `The body exceeds ${limit} bytes.`, { Connection: 'close' });
}

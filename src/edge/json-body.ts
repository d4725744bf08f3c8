import type { IncomingMessage } from 'node:http';
import { Problem } from '../problem.ts';

/** Bodies of the gateway's own endpoints are credentials: a few hundred bytes. */
const LIMIT = 16 * 1024;

/** Reads a JSON object. Throws `unsupported-media-type`, `body-too-large`, `invalid-body` or `malformed-request`. */
export async function readJsonObject(request: IncomingMessage): Promise<Record<string, unknown>> {
  const mediaType = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json') {
    throw new Problem('unsupported-media-type', 'Send the body as application/json.');
  }
  const body = await readWhole(request);
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    throw new Problem('invalid-body', 'The body is no valid JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Problem('invalid-body', 'The body is no JSON object.');
  }
  return value as Record<string, unknown>;
}

async function readWhole(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > LIMIT) {
        throw new Problem('body-too-large', `The body is larger than ${LIMIT} bytes.`, { close: true });
      }
      chunks.push(chunk);
    }
  } catch (thrown) {
    if (thrown instanceof Problem) throw thrown;
    // Nobody is there to read it; what is logged is no defect of ours.
    throw new Problem('malformed-request', 'The request was broken off.', { close: true, cause: thrown });
  }
  return Buffer.concat(chunks, length);
}

import type { IncomingMessage } from 'node:http';
import { Problem } from '../problem.ts';

/** A request body is a log level at most, in bytes. */
const MAX_BODY = 4096;

/** The JSON value of a small request body; undefined when it is none. Throws `body-too-large`. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  // The rest is not read, but the connection must live until the refusal is out.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    length += (chunk as Buffer).length;
    if (length > MAX_BODY) {
      throw new Problem('body-too-large', `A request body may have ${MAX_BODY} bytes.`, {
        headers: { Connection: 'close' },
      });
    }
    chunks.push(chunk as Buffer);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return undefined;
  }
}

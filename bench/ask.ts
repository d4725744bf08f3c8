import { request } from 'node:http';
import { text } from 'node:stream/consumers';

/** How long one answer may take, in milliseconds. */
const LIMIT = 5000;

export interface Answer {
  readonly status: number;
  /** By lowercase name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** One request to a loopback port, over a connection of its own. */
export async function ask(
  port: number,
  question: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string | undefined;
  },
): Promise<Answer> {
  const { method, path, headers, body } = question;
  const outgoing = request({ host: '127.0.0.1', port, method, path, headers, agent: false, timeout: LIMIT });
  outgoing.once('timeout', () => outgoing.destroy(new Error(`no answer in ${LIMIT} ms`)));
  outgoing.end(body);
  return new Promise((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      text(response).then(
        (received) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: received }),
        reject,
      );
    });
  });
}

import { request } from 'node:http';
import { buffer } from 'node:stream/consumers';

/** How long one answer may take, in milliseconds. */
const LIMIT = 5000;

export interface Answer {
  readonly status: number;
  /** By lowercase name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
  readonly body: string;
}

export interface Question {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** One request to a loopback port, over a connection of its own. */
export async function ask(port: number, { method, path, headers, body }: Question): Promise<Answer> {
  const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
  const outgoing = request({
    host: '127.0.0.1',
    port,
    method,
    path,
    headers: { ...headers, ...length },
    agent: false,
    timeout: LIMIT,
  });
  outgoing.once('timeout', () => outgoing.destroy(new Error(`no answer in ${LIMIT} ms`)));
  outgoing.end(body);
  return new Promise((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      const { statusCode: status = 0, headers } = response;
      buffer(response).then((bytes) => resolve({ status, headers, bytes, body: bytes.toString() }), reject);
    });
  });
}

/** What was not expected, for a peer's failure. */
export function unexpected(what: string, { status, body }: Answer): Error {
  return new Error(`${what} was answered with ${status} ${body.slice(0, 200)}`);
}

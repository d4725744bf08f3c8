import { type IncomingHttpHeaders, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { isIP } from 'node:net';
import { tlsClientOptions, type UpstreamTls } from '../tls.ts';

/** Enough of a body for a version or a problem, in bytes. */
const MAX_BODY = 64 * 1024;

/** One request, its headers exactly as given; Host is among them. */
export interface Question {
  readonly endpoint: string;
  readonly method: string;
  readonly path: string;
  /** Name, value, name, value … */
  readonly headers: readonly string[];
  /** The Host that is sent: it also names the server to TLS, as it does in the gateway. */
  readonly host: string;
  readonly tls?: UpstreamTls | undefined;
  readonly body?: string;
  /** For the whole exchange, in milliseconds. */
  readonly timeout: number;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body as UTF-8, cut off at 64 KiB. */
  readonly text: string;
  /** Epoch milliseconds by the given clock: the request was on its way, the head of the answer was there. */
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** The answer did not come in time. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut';
  readonly code = 'ETIMEDOUT';
}

/** Asks over a connection of its own. Rejects with the error of the socket, of TLS or of the parser, or `TimedOut`. */
export function ask(question: Question, now: () => number): Promise<Reply> {
  const { endpoint, method, path, host, body = '', timeout } = question;
  const { protocol, hostname, port } = new URL(endpoint);
  const servername = question.tls?.serverName ?? serverNameOf(host) ?? serverNameOf(hostname);
  const headers = [...question.headers, ...(body === '' ? [] : ['Content-Length', String(Buffer.byteLength(body))])];
  const options = { hostname: bare(hostname), port, method, path, headers, agent: false as const };
  return new Promise((resolve, reject) => {
    const request =
      protocol === 'https:'
        ? tlsRequest({ ...options, ...tlsClientOptions(question.tls), ...(servername && { servername }) })
        : plainRequest(options);
    const timer = setTimeout(() => request.destroy(new TimedOut('no answer in time')), timeout);
    let sentAt = now();
    request.once('finish', () => {
      sentAt = now();
    });
    request.on('error', reject);
    request.once('close', () => clearTimeout(timer));
    request.once('response', (response: IncomingMessage) => {
      const receivedAt = now();
      readText(response).then((text) => {
        request.destroy();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, sentAt, receivedAt });
      }, reject);
    });
    request.end(body);
  });
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response) {
    chunks.push(chunk as Buffer);
    length += (chunk as Buffer).length;
    if (length >= MAX_BODY) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_BODY).toString('utf8');
}

/** The name of a `host[:port]` for TLS' server_name, which takes no addresses. */
export function serverNameOf(host: string): string | undefined {
  const { hostname } = new URL(`http://${host}`);
  return isIP(bare(hostname)) === 0 ? hostname : undefined;
}

/** An IPv6 address without its brackets. */
export function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

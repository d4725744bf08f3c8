import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ServiceProblem } from './problem.ts';

export type Headers = Readonly<Record<string, string>>;

/** A whole response; a `body` that is text is sent as UTF-8. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string | Buffer;
}

/** A response that goes on: the handler writes it itself, with the headers every response carries. */
export interface Stream {
  readonly start: (response: ServerResponse, headers: Headers) => void;
}

export function json(status: number, value: unknown, headers: Headers = {}): Answer {
  return { status, headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(value) };
}

export function noContent(): Answer {
  return { status: 204, headers: {}, body: '' };
}

export function problemAnswer(problem: ServiceProblem, problemBase: string): Answer {
  const headers = { 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store', ...problem.headers };
  return { status: problem.status, headers, body: problem.toBody(problemBase) };
}

/** `common` are the headers every response carries. */
export function send(response: ServerResponse, answer: Answer, common: Headers): void {
  const length: Headers = answer.status === 204 ? {} : { 'Content-Length': String(Buffer.byteLength(answer.body)) };
  response.writeHead(answer.status, { ...common, ...answer.headers, ...length });
  response.end(answer.body);
}

/** The same on a socket that has no response object: a refused upgrade or a request that could not be parsed. */
export function sendRaw(socket: Duplex, answer: Answer, common: Headers): void {
  const headers = {
    ...common,
    ...answer.headers,
    Connection: 'close',
    'Content-Length': String(Buffer.byteLength(answer.body)),
  };
  socket.write(head(answer.status, headers));
  socket.end(answer.body, () => socket.destroy());
}

/** Status line and header section of a response. */
export function head(status: number, headers: Headers): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`;
}

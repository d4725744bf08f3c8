import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Headers, problemAnswer, send, sendRaw } from './answer.ts';
import { readBody } from './body.ts';
import { type Call, type Caller, splitTarget } from './call.ts';
import type { Door, Entry } from './door.ts';
import { asServiceProblem, ServiceProblem } from './problem.ts';
import type { Upgrade } from './pty.ts';
import { type Rate, rateHeaders } from './rate-limit.ts';
import { dispatch, type Routes } from './router.ts';

export interface ListenerParts {
  readonly door: Door;
  readonly routes: Routes;
  readonly openWebSocket: (call: Call, upgrade: Upgrade) => void;
  readonly problemBase: string;
  /** Bytes. */
  readonly maxBody: number;
  readonly clock: () => number;
}

const NO_BODY = Buffer.alloc(0);

/** Turns what node:http hears into calls, and every outcome into a response that carries the rate. */
export class Listener {
  readonly #parts: ListenerParts;
  /** The response under way on a connection: a parse error must not be written into the middle of it. */
  readonly #current = new WeakMap<Duplex, ServerResponse>();

  constructor(parts: ListenerParts) {
    this.#parts = parts;
  }

  async onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#current.set(request.socket, response);
    response.on('error', () => response.destroy());
    const body = await this.#read(request);
    if (body === undefined) {
      response.destroy();
      return;
    }
    const { door, routes, problemBase } = this.#parts;
    const payload = body instanceof ServiceProblem ? NO_BODY : body;
    const entry: Entry =
      body instanceof ServiceProblem ? door.refuse(request.socket.remoteAddress, body) : door.enter(request, payload);
    const headers = this.#headers(entry.rate);
    try {
      if (!('caller' in entry)) throw entry.problem;
      const outcome = await dispatch(routes, callOf(request, entry.caller, payload));
      if ('start' in outcome) outcome.start(response, headers);
      else send(response, outcome, headers);
    } catch (thrown) {
      send(response, problemAnswer(asServiceProblem(thrown), problemBase), headers);
    }
  }

  onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    const { door, openWebSocket, problemBase } = this.#parts;
    const entry: Entry = hasBody(request)
      ? door.refuse(request.socket.remoteAddress, new ServiceProblem('malformed-request', 'An upgrade has no body.'))
      : door.enter(request, NO_BODY);
    const headers = this.#headers(entry.rate);
    try {
      if (!('caller' in entry)) throw entry.problem;
      openWebSocket(callOf(request, entry.caller, NO_BODY), { request, socket, head, headers });
    } catch (thrown) {
      sendRaw(socket, problemAnswer(asServiceProblem(thrown), problemBase), headers);
    }
  }

  /** CONNECT asks for a tunnel, which there is none of. */
  onConnect(request: IncomingMessage, socket: Duplex): void {
    this.#refuse(socket, request.socket.remoteAddress, new ServiceProblem('method-not-allowed', 'This is no proxy.'));
  }

  /** A request that could not be parsed, or did not arrive in time. A request before it gets its answer first. */
  onClientError(error: NodeJS.ErrnoException, socket: Duplex & { readonly remoteAddress?: string | undefined }): void {
    const earlier = this.#current.get(socket);
    const isAnswering = earlier?.writableFinished === false;
    if (error.code === 'ECONNRESET' || !socket.writable || (isAnswering && earlier.headersSent)) {
      socket.destroy();
      return;
    }
    const refuse = () => this.#refuse(socket, socket.remoteAddress, parseProblem(error.code));
    if (isAnswering && earlier.req.complete) earlier.once('finish', refuse);
    else refuse();
  }

  #refuse(socket: Duplex, address: string | undefined, problem: ServiceProblem): void {
    socket.on('error', () => socket.destroy());
    const entry = this.#parts.door.refuse(address, problem);
    sendRaw(socket, problemAnswer(entry.problem, this.#parts.problemBase), this.#headers(entry.rate));
  }

  /** The body, why it is refused, or undefined when the client has left. Nobody's body is kept without a credential. */
  async #read(request: IncomingMessage): Promise<Buffer | ServiceProblem | undefined> {
    if (request.headers.authorization === undefined) return NO_BODY;
    try {
      return await readBody(request, this.#parts.maxBody);
    } catch (thrown) {
      return thrown instanceof ServiceProblem ? thrown : undefined;
    }
  }

  /** Date is told by the Service's own clock, against which it judges requests, so that clients can see a skew. */
  #headers(rate: Rate): Headers {
    return { Date: new Date(this.#parts.clock()).toUTCString(), ...rateHeaders(rate) };
  }
}

function callOf(request: IncomingMessage, caller: Caller, body: Buffer): Call {
  const { path, query } = splitTarget(request.url ?? '');
  const { method = '', headers } = request;
  return { caller, method, origin: `http://${headers.host ?? ''}`, path, query, headers, body };
}

function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) !== 0);
}

function parseProblem(code: string | undefined): ServiceProblem {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new ServiceProblem('headers-too-large', 'The header section is too large.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ServiceProblem('request-timeout', 'The request did not arrive in time.');
  return new ServiceProblem('malformed-request', 'The request is not HTTP/1.1.');
}

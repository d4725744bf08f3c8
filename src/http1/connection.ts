import { connect as connectTcp, type Socket } from 'node:net';
import { copyOf, giveReadBuffer, isLargeReadBuffer, SHARED_READ_BUFFER, takeReadBuffer } from './read-buffers.ts';
import { sendWithBody } from './request-body.ts';
import type { ResponseHead } from './response-head.ts';
import { type ParserSink, ResponseParser } from './response-parser.ts';
import { openTls } from './tls.ts';
import type { ConnectionOptions, ResponseHandler, WireExchange, WireRequest } from './wire.ts';
import { WireError } from './wire-error.ts';

/** A body of at most this size leaves in one write with its head, in bytes. */
const JOINED = 16 * 1024;
/** Bytes in one read that are worth a buffer of their own, to be handed on as they are. */
const MUCH = 16 * 1024;

/** What a connection needs of its pool. */
export interface ConnectionOwner {
  /** Milliseconds on a monotonic clock that may be a tick old: deadlines need no better. */
  now(): number;
  /** The response is whole and the connection may carry another request. */
  onIdle(connection: Connection, idleSeconds: number | undefined): void;
  onClosed(connection: Connection): void;
}

type Phase = 'connecting' | 'idle' | 'sending' | 'waiting' | 'receiving' | 'closed';

/** One HTTP/1.1 connection to a server, carrying one exchange at a time. */
export class Connection implements ParserSink, WireExchange {
  readonly #owner: ConnectionOwner;
  readonly #socket: Socket;
  readonly #parser: ResponseParser;
  #phase: Phase = 'connecting';
  #request: WireRequest | undefined;
  #handler: ResponseHandler | undefined;
  requestSent = false;
  #mayReuse = false;
  #idleSeconds: number | undefined;
  #stopBody: (() => void) | undefined;
  /** On the owner's clock; a silence that lasts beyond it is an error. Of an idle connection: it is closed then. */
  deadline: number;
  #bytesSeen = 0;
  #paused = false;
  /** Where the next read goes; not the shared one while much comes at a time and is kept. */
  #buffer: Buffer = SHARED_READ_BUFFER;
  /** Bytes of the present read. */
  #read = 0;

  constructor(owner: ConnectionOwner, options: ConnectionOptions) {
    this.#owner = owner;
    this.#parser = new ResponseParser(this, options.maxHead);
    this.deadline = owner.now() + options.connectTimeout;
    const { host, port, tls } = options;
    const onread = {
      buffer: () => this.#buffer,
      callback: (length: number, bytes: Uint8Array) => this.#onRead(bytes as Buffer, length),
    };
    const onConnect = () => this.#onConnect();
    this.#socket =
      tls === undefined
        ? connectTcp({ host, port, noDelay: true, keepAlive: true, onread }, onConnect)
        : openTls(host, port, tls, onread, onConnect);
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('end', () => this.#onServerEnd());
    this.#socket.on('close', () => this.#fail(new WireError('UPSTREAM_CLOSED', 'The connection was closed.')));
  }

  /** Carries one exchange. The connection must be new or idle. */
  start(request: WireRequest, handler: ResponseHandler): void {
    this.#request = request;
    this.#handler = handler;
    handler.onStart(this);
    if (this.#phase === 'idle') this.#send(request);
  }

  close(): void {
    this.#fail(new WireError('UPSTREAM_CLOSED', 'The connection was closed.'));
  }

  /** Called now and then with the owner's time. */
  check(now: number): void {
    if (now < this.deadline) return;
    if (this.#phase === 'idle') this.close();
    else if (this.#phase === 'sending' && !this.#isStuck()) this.#watchSending();
    else this.#fail(this.#paused ? stalled() : lateness(this.#phase));
  }

  pause(): void {
    this.#watchReceiving();
    this.#paused = true;
    this.#socket.pause();
  }

  resume(handler: ResponseHandler): void {
    if (this.#handler !== handler) return;
    this.#watchReceiving();
    this.#readOn();
  }

  keep(chunk: Buffer): Buffer {
    if (this.#read < MUCH) return Buffer.from(chunk);
    const isShared = this.#buffer === SHARED_READ_BUFFER;
    const isWhole = !isShared && chunk.length === this.#read;
    // The next read goes elsewhere: into memory of its own, now that much comes at a time.
    if (isShared || isWhole) this.#buffer = takeReadBuffer();
    return isWhole ? chunk : copyOf(chunk);
  }

  release(kept: Buffer): void {
    if (isLargeReadBuffer(kept.buffer)) giveReadBuffer(kept.buffer);
  }

  abort(handler: ResponseHandler): void {
    if (this.#handler !== handler) return;
    this.#handler = undefined;
    this.close();
  }

  onHead(head: ResponseHead): void {
    this.#mayReuse &&= head.keepAlive && head.end !== 'close';
    this.#idleSeconds = head.idleSeconds;
    this.#phase = 'receiving';
    this.#handler?.onHead(head);
  }

  onData(chunk: Buffer): void {
    this.#handler?.onData(chunk);
  }

  #sent(): void {
    this.requestSent = true;
    this.#stopBody = undefined;
    if (this.#phase === 'sending') this.#await();
  }

  #onConnect(): void {
    if (this.#phase !== 'connecting') return;
    this.#phase = 'idle';
    this.#mayReuse = true;
    if (this.#request === undefined) this.#owner.onIdle(this, undefined);
    else this.#send(this.#request);
  }

  #send(request: WireRequest): void {
    const { head, body } = request;
    this.#parser.expect(request.isHead);
    this.requestSent = true;
    if (body === undefined) {
      this.#socket.write(head, 'latin1');
    } else if (body instanceof Buffer && body.length <= JOINED) {
      this.#socket.write(head + body.toString('latin1'), 'latin1');
    } else {
      this.requestSent = false;
      this.#phase = 'sending';
      this.#stopBody = sendWithBody(this.#socket, request, () => this.#sent());
      this.#watchSending();
      return;
    }
    this.#await();
  }

  #await(): void {
    this.#phase = 'waiting';
    this.deadline = this.#owner.now() + (this.#request as WireRequest).headersTimeout;
  }

  #watchSending(): void {
    this.#bytesSeen = this.#bytesTaken();
    const { idleTimeout, headersTimeout } = this.#request as WireRequest;
    this.deadline = this.#owner.now() + (idleTimeout || headersTimeout);
  }

  /** Nothing was taken of what there is to send. A server that takes it slowly is alive, and one may wait for the client. */
  #isStuck(): boolean {
    return this.#socket.writableLength > 0 && this.#bytesTaken() === this.#bytesSeen;
  }

  #bytesTaken(): number {
    return this.#socket.bytesWritten - this.#socket.writableLength;
  }

  #watchReceiving(): void {
    const idle = this.#request?.idleTimeout ?? 0;
    this.deadline = idle === 0 ? Number.POSITIVE_INFINITY : this.#owner.now() + idle;
  }

  /** Gives whether to go on reading. */
  #onRead(bytes: Buffer, length: number): boolean {
    this.#read = length;
    try {
      const isExpected = this.#parser.busy;
      const taken = this.#parser.execute(length === bytes.length ? bytes : bytes.subarray(0, length));
      // What lies beyond the response answers nothing: it must not pass for the answer to the next request.
      if (taken < length) this.#mayReuse = false;
      if (!isExpected) this.close();
      else if (!this.#parser.busy) this.#complete();
      else if (this.#phase === 'receiving') this.#handedOver();
    } catch (error) {
      this.#fail(error);
    }
    return true;
  }

  #handedOver(): void {
    if (this.deadline !== Number.POSITIVE_INFINITY) this.#watchReceiving();
    this.#handler?.onPause();
    // A stream that trickles, or waits for its reader, needs no memory meanwhile.
    if (this.#paused || this.#read < MUCH) this.#useSharedBuffer();
  }

  #onServerEnd(): void {
    try {
      this.#mayReuse = false;
      this.#parser.finish();
      this.#complete();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The response is whole. */
  #complete(): void {
    const handler = this.#handler;
    this.#handler = undefined;
    if (this.requestSent && this.#mayReuse && this.#phase !== 'closed') {
      this.#rest();
    } else {
      // What is left of the request has nobody to read it.
      this.#stopBody?.();
      this.#shut();
    }
    handler?.onEnd();
  }

  #rest(): void {
    this.#phase = 'idle';
    // The read that ended the response may have been too much for its reader; the next request has another.
    this.#socket.resume();
    this.#request = undefined;
    this.#useSharedBuffer();
    // The last bytes may have been too many for the client; the next response is somebody else's.
    if (this.#paused) this.#readOn();
    this.#owner.onIdle(this, this.#idleSeconds);
  }

  #readOn(): void {
    this.#paused = false;
    this.#socket.resume();
  }

  #useSharedBuffer(): void {
    if (this.#buffer === SHARED_READ_BUFFER) return;
    giveReadBuffer(this.#buffer.buffer);
    this.#buffer = SHARED_READ_BUFFER;
  }

  #fail(error: unknown): void {
    if (this.#phase === 'closed') return;
    const sent = this.#phase !== 'connecting';
    const handler = this.#handler;
    this.#handler = undefined;
    this.#stopBody?.();
    this.#shut();
    handler?.onError(error, sent);
  }

  #shut(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#socket.destroy();
    this.#owner.onClosed(this);
  }
}

/** Whoever paused the response never resumed it: others wait for the connection. */
function stalled(): WireError {
  return new WireError('CLIENT_STALLED', 'The answer was not taken.');
}

function lateness(phase: Phase): WireError {
  switch (phase) {
    case 'connecting':
      return new WireError('UPSTREAM_CONNECT_TIMEOUT', 'The connection was not made in time.');
    case 'waiting':
      return new WireError('UPSTREAM_HEADERS_TIMEOUT', 'The server did not answer in time.');
    default:
      return new WireError('UPSTREAM_IDLE_TIMEOUT', 'The server stopped within the exchange.');
  }
}

import type { Readable } from 'node:stream';
import type { ResponseHead } from './response-head.ts';
import type { TlsOptions } from './tls.ts';

/** A body that is fetched from where it is stored, of the length that the head declares. */
export interface BodySource {
  /** Fills the beginning of `buffer` and tells how much of it, 0 at the end. Of a failure only its owner hears. */
  read(buffer: Buffer, done: (length: number) => void): void;
}

/** One request as it goes on the wire. Durations are milliseconds. */
export interface WireRequest {
  /** Request line and headers, the empty line included, one character per byte. */
  readonly head: string;
  readonly isHead: boolean;
  /** Whole in memory, in pieces or not, or stored, or a stream; which is sent chunked unless `head` declares its length. */
  readonly body: Buffer | readonly Buffer[] | BodySource | Readable | undefined;
  readonly chunked: boolean;
  /** Asks for a new connection: where a kept one broke, the others may have been closed as well. */
  readonly fresh: boolean;
  /** From the last byte of the request to the head of the response. */
  readonly headersTimeout: number;
  /** Between two pieces of either body; 0 for no limit on the response's. */
  readonly idleTimeout: number;
}

/** Hears what becomes of one request. After `onEnd` or `onError` nothing more is heard. */
export interface ResponseHandler {
  /** The request has a connection now. */
  onStart(exchange: WireExchange): void;
  onHead(head: ResponseHead): void;
  /** `chunk` is good during the call only; to write it later, ask the exchange for one that lasts. */
  onData(chunk: Buffer): void;
  /** All that has arrived was handed over, and it was not the end. */
  onPause(): void;
  onEnd(): void;
  /** `sent` tells whether any of the request may have reached the server. */
  onError(error: unknown, sent: boolean): void;
}

/** What a handler may do with its exchange; without effect once that is over, whoever the connection serves then. */
export interface WireExchange {
  /** All of the request has been handed over: its body is not needed any more. */
  readonly requestSent: boolean;
  /** Stops the reading of the response, within a call of `onHead`, `onData` or `onPause`. */
  pause(): void;
  resume(handler: ResponseHandler): void;
  /** Makes bytes last until they are released. */
  keep(chunk: Buffer): Buffer;
  release(kept: Buffer): void;
  /** Gives the request up; the handler hears nothing more. */
  abort(handler: ResponseHandler): void;
}

export interface ConnectionOptions {
  readonly host: string;
  readonly port: number;
  /** Undefined for plain TCP. */
  readonly tls: TlsOptions | undefined;
  readonly connectTimeout: number;
  readonly maxHead: number;
}

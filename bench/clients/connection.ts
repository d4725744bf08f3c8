import { connect, type Socket } from 'node:net';
import { AnswerParser } from './answer-parser.ts';

/** Whoever uses a connection hears of each answer, or once that the connection is no more. */
export interface ConnectionEvents {
  answered(status: number): void;
  /** Also of a server that closes a connection that waits for nothing. */
  broken(error: Error): void;
}

/** A kept HTTP/1.1 connection to a loopback port, for one request at a time. */
export class Connection {
  readonly #socket: Socket;
  readonly #parser = new AnswerParser();

  constructor(port: number, events: ConnectionEvents) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket = socket;
    let over = false;
    const end = (error: Error) => {
      if (over) return;
      over = true;
      socket.destroy();
      events.broken(error);
    };
    socket.on('data', (bytes: Buffer) => {
      let status: number;
      try {
        status = this.#parser.feed(bytes);
      } catch (error) {
        end(error as Error);
        return;
      }
      if (status !== 0) events.answered(status);
    });
    socket.on('error', end);
    socket.on('close', () => end(new Error('closed')));
  }

  /** Sends bytes; false asks to wait for `whenDrained` before more. */
  send(bytes: Buffer): boolean {
    return this.#socket.write(bytes);
  }

  whenDrained(): Promise<void> {
    return new Promise((resolve) => this.#socket.once('drain', resolve));
  }

  /** Sends what belongs together in one go. */
  sendTogether(parts: readonly Buffer[]): void {
    this.#socket.cork();
    for (const part of parts) this.#socket.write(part);
    this.#socket.uncork();
  }

  /** Ends it without an event. */
  close(): void {
    this.#socket.removeAllListeners();
    this.#socket.on('error', () => undefined);
    this.#socket.destroy();
  }
}

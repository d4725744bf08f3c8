import { randomUUID } from 'node:crypto';
import type { ChainableCommander } from 'ioredis';
import { connectRedis, type OutageReport, type RedisConnection } from './redis-connection.ts';

/** How far back a process that was cut off can catch up, in milliseconds. */
const REMEMBERED = 60 * 60_000;
/** What is taken off the moment a connection was lost: the time it may have been dead unnoticed, and clocks that differ. */
const MARGIN = 60_000;

export interface EndedChannelOptions {
  readonly url: string;
  readonly prefix: string;
  readonly clock: () => number;
  readonly outage: OutageReport;
}

/**
 * Tells every process which sessions were ended. Published messages are lost on a process whose connection is down, so the
 * keys are also logged for an hour; a process that reconnects reads what it missed. Reading on a subscribed connection
 * takes RESP3, which every Redis this store supports speaks.
 */
export class EndedChannel {
  readonly #channel: string;
  readonly #log: string;
  readonly #self = randomUUID();
  readonly #clock: () => number;
  readonly #connection: RedisConnection;
  readonly #listeners = new Set<(key: string) => void>();
  #listening = false;
  #deafSince: number;

  constructor(options: EndedChannelOptions) {
    this.#channel = `${options.prefix}ended`;
    this.#log = `${options.prefix}ended-log`;
    this.#clock = options.clock;
    this.#deafSince = options.clock();
    this.#connection = connectRedis({
      url: options.url,
      name: 'countersign-ended',
      onUp: () => {
        this.#listen().then(
          () => options.outage.up('ended'),
          (error) => options.outage.down('ended', error),
        );
      },
      onDown: (error) => {
        if (this.#listening) this.#deafSince = this.#clock();
        this.#listening = false;
        options.outage.down('ended', error);
      },
    });
    this.#connection.client.on('message', (_channel: string, message: string) => {
      const [sender, key] = message.split(' ');
      if (sender !== this.#self && key !== undefined) this.#emit(key);
    });
  }

  /** Whether this process hears of sessions that others end. */
  get listening(): boolean {
    return this.#listening;
  }

  onEnded(listener: (key: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Adds the announcement of one ended session to a transaction. */
  announce(transaction: ChainableCommander, key: string): void {
    const now = this.#clock();
    transaction
      .zadd(this.#log, now, key)
      .zremrangebyscore(this.#log, '-inf', now - REMEMBERED)
      .pexpire(this.#log, REMEMBERED)
      .publish(this.#channel, `${this.#self} ${key}`);
  }

  /** Tells the listeners of this process, which need not wait for the message to come back. */
  tellOwn(key: string): void {
    this.#emit(key);
  }

  close(): Promise<void> {
    this.#listeners.clear();
    return this.#connection.close();
  }

  async #listen(): Promise<void> {
    const { client } = this.#connection;
    await client.subscribe(this.#channel);
    const missed = await client.zrangebyscore(this.#log, this.#deafSince - MARGIN, '+inf');
    this.#listening = true;
    for (const key of missed) this.#emit(key);
  }

  #emit(key: string): void {
    for (const listener of this.#listeners) listener(key);
  }
}

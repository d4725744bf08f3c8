import { Redis } from 'ioredis';
import { Problem } from '../problem.ts';

/** Milliseconds. A caller waits no longer than COMMAND; SILENCE then replaces the connection, so later callers fail at once. */
const COMMAND_TIMEOUT = 800;
const SILENCE_TIMEOUT = 900;
const CONNECT_TIMEOUT = 1_000;
const LONGEST_BACKOFF = 500;
const HEARTBEAT = 1_000;

export interface RedisConnectionOptions {
  /** `redis://` or `rediss://` with optional user, password and database number. */
  readonly url: string;
  /** Shown in `CLIENT LIST`. */
  readonly name: string;
  /** 3 unless given. */
  readonly protocol?: 2;
  /** Every time the connection is usable. */
  readonly onUp: () => void;
  /** Every time it stops being usable, or could not be made; repeatedly during an outage. */
  readonly onDown: (error: Error) => void;
}

export interface RedisConnection {
  readonly client: Redis;
  close(): Promise<void>;
}

/**
 * A connection that comes up whenever it can and never throws at anyone: with Redis down or hung its commands are
 * rejected within a second, nothing is queued for later, and nothing is sent twice.
 */
export function connectRedis(options: RedisConnectionOptions): RedisConnection {
  let closing = false;
  const client = new Redis(options.url, {
    connectionName: options.name,
    protocol: options.protocol ?? 3,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT,
    socketTimeout: SILENCE_TIMEOUT,
    connectTimeout: CONNECT_TIMEOUT,
    retryStrategy: (attempt) => Math.min(50 * attempt, LONGEST_BACKOFF),
  });
  const down = (error: Error) => {
    if (!closing) options.onDown(error);
  };
  client.on('ready', options.onUp);
  client.on('error', (error) => down(withoutCommand(error)));
  client.on('close', () => down(new Error('The connection to Redis was closed.')));

  // A server that hangs closes nothing, and one that is cut off even less: only silence after a question tells.
  const heartbeat = setInterval(() => {
    if (client.status === 'ready') client.ping().catch(() => undefined);
  }, HEARTBEAT).unref();

  return {
    client,
    async close() {
      closing = true;
      clearInterval(heartbeat);
      await client.quit().catch(() => client.disconnect());
    },
  };
}

/** Reports the first error of an outage and then nothing until every part of the whole is up again. */
export class OutageReport {
  readonly #down = new Set<string>();
  readonly #onError: (error: Error) => void;

  constructor(onError: ((error: Error) => void) | undefined) {
    this.#onError = onError ?? (() => undefined);
  }

  down(part: string, error: Error): void {
    const first = this.#down.size === 0;
    this.#down.add(part);
    if (first) this.#onError(error);
  }

  up(part: string): void {
    this.#down.delete(part);
  }
}

/** The Problem for a command that Redis did not answer, or not properly. */
export function redisUnavailable(thrown: unknown): Problem {
  return new Problem('session-store-unavailable', 'The session store does not answer at the moment.', {
    headers: { 'Retry-After': '1' },
    cause: withoutCommand(thrown),
  });
}

/** ioredis hangs the failed command with its arguments on the error: passwords and records, which no log may show. */
export function withoutCommand(thrown: unknown): Error {
  return new Error(thrown instanceof Error ? thrown.message : 'Redis failed.');
}

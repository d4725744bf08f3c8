import type { Redis } from 'ioredis';
import { connectRedis, withoutCommand } from './redis-connection.ts';

/** Where Redis announces changed keys to clients of the older protocol. */
const CHANNEL = '__redis__:invalidate';
/** Milliseconds until an arming that Redis refused is tried again. */
const RETRY = 1_000;

export interface TrackingOptions {
  readonly url: string;
  /** The connection whose reads are tracked. */
  readonly client: Redis;
  /** From now on every change of a key that is read will be heard of. */
  readonly onUp: () => void;
  /** Changes are not heard of any more. Called again for each further failure while that lasts. */
  readonly onDown: (error: Error) => void;
  /** A key that was read has changed, expired or gone, whoever did it: this process too. */
  readonly onChanged: (name: string) => void;
  /** All keys are gone. */
  readonly onFlushed: () => void;
}

/**
 * Lets Redis tell which of the keys read over a connection have changed since (server-assisted client side caching). The
 * client library drops the messages that the newer protocol would bring over that same connection, so they are
 * redirected to a second one that speaks the older protocol. Reads are tracked only while both are up.
 *
 * A key is announced once and then forgotten until it is read again: whatever writes a key, its next read must go to Redis.
 */
export function trackReads(options: TrackingOptions): { close(): Promise<void> } {
  const { client } = options;
  let redirect: Promise<number> | undefined;
  let attempts = 0;
  let retry: NodeJS.Timeout | undefined;
  let closed = false;

  function down(error: Error): void {
    attempts++;
    clearTimeout(retry);
    if (!closed) options.onDown(error);
  }

  async function arm(): Promise<void> {
    if (closed || client.status !== 'ready' || subscriber.client.status !== 'ready') return;
    const attempt = ++attempts;
    clearTimeout(retry);
    try {
      redirect ??= subscribe();
      await client.client('TRACKING', 'ON', 'REDIRECT', await redirect);
      if (attempt === attempts) options.onUp();
    } catch (error) {
      if (attempt !== attempts) return;
      down(withoutCommand(error));
      retry = setTimeout(arm, RETRY).unref();
    }
  }

  /** Gives the id of the connection that listens. It cannot be asked for any more once the connection does. */
  function subscribe(): Promise<number> {
    const { client: listener } = subscriber;
    const id = listener.client('ID').then((id) => listener.subscribe(CHANNEL).then(() => id));
    id.catch(() => {
      if (redirect === id) redirect = undefined;
    });
    return id;
  }

  const subscriber = connectRedis({
    url: options.url,
    name: 'countersign-invalidations',
    protocol: 2,
    onUp: arm,
    onDown(error) {
      redirect = undefined;
      down(error);
    },
  });
  subscriber.client.on('messageBuffer', (_channel: Buffer, names: unknown) => {
    if (!Array.isArray(names)) return options.onFlushed();
    for (const name of names) options.onChanged(String(name));
  });
  client.on('ready', arm);
  client.on('close', () => down(new Error('The connection to Redis was closed.')));

  return {
    close() {
      closed = true;
      clearTimeout(retry);
      return subscriber.close();
    },
  };
}

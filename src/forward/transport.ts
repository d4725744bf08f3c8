import { type Dispatcher, Pool } from 'undici';
import type { Upstream } from '../tenant.ts';

/** Idle time before a kept connection to an upstream is closed; shorter than servers commonly allow, in milliseconds. */
const KEEP_ALIVE = 30_000;
/** An upstream's response head may be this large, in bytes. */
const MAX_RESPONSE_HEADER = 32 * 1024;

/** The connection pools to upstream endpoints, one per endpoint and connection settings. */
export class Transport {
  readonly #pools = new Map<string, Pool>();

  /** Starts one request. The path goes on the wire byte for byte as given. */
  dispatch(
    upstream: Upstream,
    endpoint: string,
    options: Omit<Dispatcher.DispatchOptions, 'origin' | 'reset' | 'headersTimeout'>,
    handler: Dispatcher.DispatchHandler,
  ): void {
    this.#poolOf(upstream, endpoint).dispatch(
      // Without `reset: false` undici closes the connection after HEAD and after a GET, REPORT or DELETE with a body.
      { ...options, reset: false, headersTimeout: upstream.timeouts.headers },
      handler,
    );
  }

  /** Breaks what is still under way. */
  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
    this.#pools.clear();
  }

  #poolOf(upstream: Upstream, endpoint: string): Pool {
    const key = `${endpoint} ${upstream.connections} ${upstream.timeouts.connect}`;
    let pool = this.#pools.get(key);
    if (pool === undefined) {
      pool = new Pool(endpoint, {
        connections: upstream.connections,
        pipelining: 1,
        allowH2: false,
        connect: { timeout: upstream.timeouts.connect },
        keepAliveTimeout: KEEP_ALIVE,
        maxHeaderSize: MAX_RESPONSE_HEADER,
      });
      this.#pools.set(key, pool);
    }
    return pool;
  }
}

import { ConnectionPool } from '../http1/pool.ts';
import type { Upstream } from '../tenant.ts';
import { tlsClientOptions } from '../tls.ts';

/** An upstream's response head may be this large, in bytes. */
const MAX_RESPONSE_HEAD = 32 * 1024;
/** How often connections are looked after, in milliseconds: a timeout may be twice as much late. */
const TICK = 100;

/** The connection pools to upstream endpoints, one per endpoint and connection settings. */
export class Transport {
  readonly #pools = new Map<string, ConnectionPool>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  /** Monotonic milliseconds, a tick ahead at the most: a deadline may come late, but never early. */
  #now = 0;
  readonly #clock = () => this.#now;

  /** The connections to one of an upstream's endpoints. */
  pool(upstream: Upstream, endpoint: string): ConnectionPool {
    const settings = `${endpoint} ${upstream.connections} ${upstream.timeouts.connect}`;
    const key = upstream.tls === undefined ? settings : `${settings} ${upstream.tls.id}`;
    let pool = this.#pools.get(key);
    if (pool === undefined) {
      pool = this.#open(upstream, endpoint);
      this.#pools.set(key, pool);
    }
    return pool;
  }

  /** Breaks what is still under way. What is tried again because of it finds every pool closed. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    for (const pool of this.#pools.values()) pool.close();
  }

  #open(upstream: Upstream, endpoint: string): ConnectionPool {
    if (this.#timer === undefined) {
      this.#tick();
      this.#timer = setInterval(() => this.#tick(), TICK).unref();
    }
    const { protocol, hostname, port } = new URL(endpoint);
    const isTls = protocol === 'https:';
    const options = {
      host: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
      port: Number(port) || (isTls ? 443 : 80),
      tls: isTls ? tlsClientOptions(upstream.tls) : undefined,
      connectTimeout: upstream.timeouts.connect,
      maxHead: MAX_RESPONSE_HEAD,
    };
    const pool = new ConnectionPool(options, upstream.connections, this.#clock);
    if (this.#closed) pool.close();
    return pool;
  }

  #tick(): void {
    const now = performance.now();
    this.#now = now + TICK;
    for (const pool of this.#pools.values()) pool.check(now);
  }
}

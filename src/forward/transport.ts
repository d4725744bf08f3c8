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
  /** The keys of the pools that the configuration in force asks for; undefined until it is known. */
  #wanted: ReadonlySet<string> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  /** Monotonic milliseconds, a tick ahead at the most: a deadline may come late, but never early. */
  #now = 0;
  readonly #clock = () => this.#now;

  /** The connections to one of an upstream's endpoints. */
  pool(upstream: Upstream, endpoint: string): ConnectionPool {
    const key = keyOf(upstream, endpoint);
    let pool = this.#pools.get(key);
    if (pool === undefined) {
      pool = this.#open(upstream, endpoint);
      this.#pools.set(key, pool);
      // For a request that began before a reload: its connection is closed behind it.
      if (this.#wanted?.has(key) === false) pool.drain();
    }
    return pool;
  }

  /** Lets go of what no upstream uses any more: idle connections at once, the others as soon as they are idle. */
  retain(upstreams: readonly Upstream[]): void {
    const wanted = new Set(
      upstreams.flatMap((upstream) => upstream.endpoints.map((endpoint) => keyOf(upstream, endpoint))),
    );
    this.#wanted = wanted;
    for (const [key, pool] of this.#pools) {
      if (wanted.has(key)) pool.undrain();
      else pool.drain();
    }
  }

  /** Sends away the requests that wait for a connection to an endpoint. */
  shed(endpoint: string): void {
    for (const [key, pool] of this.#pools) {
      if (key.startsWith(`${endpoint} `)) pool.shed();
    }
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
    for (const [key, pool] of this.#pools) {
      pool.check(now);
      if (pool.isDrained && !this.#closed) this.#pools.delete(key);
    }
  }
}

function keyOf({ connections, timeouts, tls }: Upstream, endpoint: string): string {
  const settings = `${endpoint} ${connections} ${timeouts.connect}`;
  return tls === undefined ? settings : `${settings} ${tls.id}`;
}

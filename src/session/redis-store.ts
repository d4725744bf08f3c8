import { hash } from 'node:crypto';
import type { ChainableCommander, Redis } from 'ioredis';
import { NearCache, type NearCacheLimits } from './near-cache.ts';
import { decodeSession, encodeSession } from './record.ts';
import { connectRedis, OutageReport, type RedisConnection, redisUnavailable } from './redis-connection.ts';
import { EndedChannel } from './redis-ended.ts';
import { trackReads } from './redis-tracking.ts';
import type { Seal } from './seal.ts';
import { expiresAt, idleExpiresAt, type Session } from './session.ts';
import type { SessionOwner, SessionStore } from './store.ts';

/** Records read or ended in one command: Redis serves nobody else meanwhile. */
const BATCH = 500;

export interface RedisStoreOptions {
  /** `redis://` or `rediss://` with optional user, password and database number. Redis 7 or later. */
  readonly url: string;
  /** In front of every key, for several gateways on one database; `countersign:` unless given. */
  readonly prefix?: string;
  readonly clock: () => number;
  /** Records are stored in the clear without one. */
  readonly seal?: Seal | undefined;
  /** Hears the first error of each outage. */
  readonly onError?: ((error: Error) => void) | undefined;
  /** Sessions kept in this process too. Without it every read goes to Redis. */
  readonly nearCache?: NearCacheLimits | undefined;
  /** Hears why the near cache is bypassed, once each time it comes to that. */
  readonly onBypass?: ((error: Error) => void) | undefined;
}

interface Entry {
  readonly key: string;
  /** undefined where the record has expired or does not open. */
  readonly session: Session | undefined;
}

/**
 * Sessions shared by all processes on one Redis:
 * - `session:<key>`: the record, expiring with the session's idle time;
 * - `sessions:<tenant>`, `sessions:<tenant>:<hash of subject>`: sorted sets of keys by absolute expiry. A key stays in
 *   them when its record has idled out, so that ending all of an owner's sessions still reaches streams left open.
 */
export function createRedisStore(options: RedisStoreOptions): SessionStore {
  return new RedisStore(options);
}

class RedisStore implements SessionStore {
  readonly #connection: RedisConnection;
  readonly #client: Redis;
  readonly #ended: EndedChannel;
  readonly #prefix: string;
  readonly #clock: () => number;
  readonly #seal: Seal | undefined;
  readonly #tracking: { close(): Promise<void> } | undefined;
  readonly nearCache: NearCache | undefined;

  constructor(options: RedisStoreOptions) {
    this.#prefix = options.prefix ?? 'countersign:';
    this.#clock = options.clock;
    this.#seal = options.seal;
    const outage = new OutageReport(options.onError);
    this.#connection = connectRedis({
      url: options.url,
      name: 'countersign-sessions',
      onUp: () => outage.up('sessions'),
      onDown: (error) => outage.down('sessions', error),
    });
    this.#client = this.#connection.client;
    this.#ended = new EndedChannel({ url: options.url, prefix: this.#prefix, clock: options.clock, outage });
    if (options.nearCache === undefined) return;
    const near = new NearCache({ ...options.nearCache, clock: options.clock, read: (key) => this.#read(key) });
    this.nearCache = near;
    this.#tracking = this.#keepCoherent(near, options);
    // The announcement of a key that this process deleted may come after the answer: who ended a session must not find it.
    this.#ended.onEnded((key) => near.drop(key));
  }

  get ready(): boolean {
    return this.#client.status === 'ready' && this.#ended.listening;
  }

  get(key: string): Session | undefined | Promise<Session | undefined> {
    return this.nearCache === undefined ? this.#read(key) : this.nearCache.get(key);
  }

  async create(session: Session): Promise<void> {
    const now = this.#clock();
    const transaction = this.#client.multi();
    for (const index of this.#indexKeys(session)) {
      const lifetime = Math.ceil(expiresAt(session) - now);
      // NX and GT: an index lives as long as the longest of its sessions.
      transaction
        .zremrangebyscore(index, '-inf', now)
        .zadd(index, expiresAt(session), session.key)
        .pexpire(index, lifetime, 'NX')
        .pexpire(index, lifetime, 'GT');
    }
    // After the index entries: a session that is in no index could not be found to be ended.
    transaction.set(this.#recordKey(session.key), this.#encode(session), 'PX', remainingIdle(session, now));
    await execute(transaction);
  }

  async touch(session: Session, seenAt: number): Promise<void> {
    const touched: Session = { ...session, seenAt };
    const record = this.#encode(touched);
    const remaining = remainingIdle(touched, this.#clock());
    await answered(this.#client.set(this.#recordKey(session.key), record, 'PX', remaining, 'XX'));
    // Not the touched session in its place: of a key that was written Redis tells nothing until it is read again.
    this.nearCache?.drop(session.key);
  }

  async end(key: string): Promise<boolean> {
    return (await this.#remove([{ key, session: await this.#read(key) }])) > 0;
  }

  async list(owner: SessionOwner): Promise<Session[]> {
    const entries = await this.#entries(owner);
    return entries.flatMap(({ session }) => session ?? []);
  }

  count(owner: SessionOwner): Promise<number> {
    return answered(this.#client.zcount(this.#indexKey(owner), `(${this.#clock()}`, '+inf'));
  }

  async endAll(owner: SessionOwner, except?: string): Promise<number> {
    const entries = (await this.#entries(owner)).filter(({ key }) => key !== except);
    let ended = 0;
    for (let i = 0; i < entries.length; i += BATCH) ended += await this.#remove(entries.slice(i, i + BATCH), owner);
    return ended;
  }

  onEnded(listener: (key: string) => void): () => void {
    return this.#ended.onEnded(listener);
  }

  async close(): Promise<void> {
    await Promise.all([this.#tracking?.close(), this.#connection.close(), this.#ended.close()]);
  }

  #keepCoherent(near: NearCache, { url, onBypass }: RedisStoreOptions): { close(): Promise<void> } {
    const prefix = this.#recordKey('');
    let bypassed = false;
    return trackReads({
      url,
      client: this.#client,
      onUp() {
        bypassed = false;
        near.resume();
      },
      onDown(error) {
        near.suspend();
        if (!bypassed) onBypass?.(error);
        bypassed = true;
      },
      onChanged(name) {
        // The indexes are read over this connection too.
        if (name.startsWith(prefix)) near.drop(name.slice(prefix.length));
      },
      onFlushed: () => near.clear(),
    });
  }

  #read(key: string): Promise<Session | undefined> {
    return this.#client.get(this.#recordKey(key)).then(
      (text) => this.#decode(key, text),
      (error) => {
        throw redisUnavailable(error);
      },
    );
  }

  async #entries(owner: SessionOwner): Promise<Entry[]> {
    const index = this.#indexKey(owner);
    await answered(this.#client.zremrangebyscore(index, '-inf', this.#clock()));
    const keys = await answered(this.#client.zrange(index, '0', '-1'));
    const entries: Entry[] = [];
    for (let i = 0; i < keys.length; i += BATCH) {
      const batch = keys.slice(i, i + BATCH);
      const texts = await answered(this.#client.mget(batch.map((key) => this.#recordKey(key))));
      for (const [at, key] of batch.entries()) entries.push({ key, session: this.#decode(key, texts[at] ?? null) });
    }
    return entries;
  }

  /** Ends the entries in one transaction and gives how many there still were. `owner`: whose index they were found in. */
  async #remove(entries: readonly Entry[], owner?: SessionOwner): Promise<number> {
    const transaction = this.#client.multi();
    transaction.del(entries.map(({ key }) => this.#recordKey(key)));
    for (const { key, session } of entries) {
      for (const index of session ? this.#indexKeys(session) : []) transaction.zrem(index, key);
      if (owner) transaction.zrem(this.#indexKey(owner), key);
      this.#ended.announce(transaction, key);
    }
    const [ended] = await execute(transaction);
    for (const { key } of entries) this.#ended.tellOwn(key);
    return Number(ended);
  }

  #recordKey(key: string): string {
    return `${this.#prefix}session:${key}`;
  }

  #indexKeys(session: Session): string[] {
    const { tenant, subject } = session;
    return subject === undefined
      ? [this.#indexKey({ tenant })]
      : [this.#indexKey({ tenant }), this.#indexKey({ tenant, subject })];
  }

  /** The subject is hashed: it may hold any character, and key names are where sealing does not reach. */
  #indexKey({ tenant, subject }: SessionOwner): string {
    const index = `${this.#prefix}sessions:${encodeURIComponent(tenant)}`;
    return subject === undefined ? index : `${index}:${hash('sha256', subject, 'base64url')}`;
  }

  #encode(session: Session): string {
    const text = encodeSession(session);
    return this.#seal?.seal(session.key, text) ?? text;
  }

  #decode(key: string, record: string | null): Session | undefined {
    if (record === null) return undefined;
    const text = this.#seal ? this.#seal.open(key, record) : record;
    return text === undefined ? undefined : decodeSession(key, text);
  }
}

/** Whole milliseconds, at least one: Redis refuses an expiry of zero. */
function remainingIdle(session: Session, now: number): number {
  return Math.max(1, Math.ceil(idleExpiresAt(session) - now));
}

async function answered<T>(reply: Promise<T>): Promise<T> {
  try {
    return await reply;
  } catch (error) {
    throw redisUnavailable(error);
  }
}

/** Runs a transaction and gives the reply to each of its commands. */
async function execute(transaction: ChainableCommander): Promise<unknown[]> {
  const replies = await answered(transaction.exec());
  if (replies === null) throw redisUnavailable(new Error('The transaction was discarded.'));
  return replies.map(([error, reply]) => {
    if (error) throw redisUnavailable(error);
    return reply;
  });
}

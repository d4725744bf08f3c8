import { isLive, type Session } from './session.ts';

/** What an operator sees of a near cache. */
export interface NearCacheState {
  /** Whether changes are heard of. While they are not, every read goes to the store. */
  readonly up: boolean;
  readonly entries: number;
  /** Reads answered from memory, and reads that had to ask the store. */
  readonly hits: number;
  readonly misses: number;
}

export interface NearCacheLimits {
  /** Sessions kept at most; 2 or more. */
  readonly entries: number;
  /** Milliseconds after which a session is read anew though nobody said that it changed. */
  readonly maxAge: number;
}

interface Entry {
  readonly session: Session;
  /** Epoch milliseconds. */
  readonly readAt: number;
}

/**
 * Sessions of a shared store kept in this process, answered without a promise. Whoever hears of changes in the store must
 * `drop` what changed, and call `suspend` as soon as it hears nothing any more and `resume` once it does again. What a
 * read that was under way meanwhile brings back is handed to its callers and not kept: it may be older than the change.
 */
export class NearCache implements NearCacheState {
  readonly #read: (key: string) => Promise<Session | undefined>;
  readonly #clock: () => number;
  readonly #maxAge: number;
  readonly #generation: number;
  // Two generations: the older is forgotten whole, so that making room costs no search for the oldest entry.
  #young = new Map<string, Entry>();
  #old = new Map<string, Entry>();
  #youngSince = 0;
  /** Reads under way whose result may be kept. */
  readonly #reads = new Map<string, Promise<Session | undefined>>();
  #up = false;
  #hits = 0;
  #misses = 0;

  constructor(options: NearCacheLimits & { clock: () => number; read: (key: string) => Promise<Session | undefined> }) {
    this.#read = options.read;
    this.#clock = options.clock;
    this.#maxAge = options.maxAge;
    this.#generation = Math.floor(options.entries / 2);
  }

  /** A session that is kept here is live; one that seems to be over is read anew, for another process may have used it. */
  get(key: string): Session | Promise<Session | undefined> {
    const entry = this.#young.get(key) ?? this.#old.get(key);
    const now = this.#clock();
    if (entry !== undefined && this.#isFresh(entry.readAt, now) && isLive(entry.session, now)) {
      this.#hits++;
      return entry.session;
    }
    this.#misses++;
    if (!this.#up) return this.#read(key);
    return this.#reads.get(key) ?? this.#load(key, now);
  }

  /** The session changed or ended. */
  drop(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
    this.#reads.delete(key);
  }

  /** Anything may have changed. */
  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#reads.clear();
  }

  /** Changes are not heard of from here on. */
  suspend(): void {
    this.#up = false;
    this.clear();
  }

  /** Changes of whatever is read from here on will be heard of. */
  resume(): void {
    this.#up = true;
  }

  get up(): boolean {
    return this.#up;
  }

  get entries(): number {
    return this.#young.size + this.#old.size;
  }

  get hits(): number {
    return this.#hits;
  }

  get misses(): number {
    return this.#misses;
  }

  #load(key: string, now: number): Promise<Session | undefined> {
    /** False when the key changed under the read, or another read has taken its place. */
    const settle = () => this.#reads.get(key) === reading && this.#reads.delete(key);
    const reading = this.#read(key).then(
      (session) => {
        if (settle() && session !== undefined) this.#keep(key, { session, readAt: now });
        return session;
      },
      (error) => {
        settle();
        throw error;
      },
    );
    this.#reads.set(key, reading);
    return reading;
  }

  #keep(key: string, entry: Entry): void {
    if (this.#young.size >= this.#generation || !this.#isFresh(this.#youngSince, entry.readAt)) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngSince = entry.readAt;
    }
    this.#old.delete(key);
    this.#young.set(key, entry);
  }

  /** A clock that was set back makes everything read before look as if it came from the future. */
  #isFresh(since: number, now: number): boolean {
    return now >= since && now - since < this.#maxAge;
  }
}

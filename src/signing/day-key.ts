import { createHmac } from 'node:crypto';
import { trimValue } from './canonical.ts';
import { HmacKey } from './hmac.ts';

/** k2 of service-api.md §5: HMAC-SHA256(HMAC-SHA256(secret, day), host), as raw bytes. `day` is `YYYYmmdd`. */
export function deriveSigningKey(secretKey: string, day: string, host: string): Buffer {
  const k1 = createHmac('sha256', Buffer.from(secretKey, 'utf8')).update(day, 'utf8').digest();
  return createHmac('sha256', k1).update(trimValue(host), 'utf8').digest();
}

interface Entry {
  readonly secretKey: string;
  readonly day: string;
  readonly host: string;
  readonly key: HmacKey;
}

/**
 * Signing keys by access key and host, so that a request costs no derivation. A keypair needs one key at a time for each
 * host: a new day replaces the old one, and so does a changed secret. Bounded: past `capacity` the oldest entry goes.
 */
export class DayKeyCache {
  readonly #entries = new Map<string, Entry>();
  readonly #capacity: number;

  constructor(capacity = 1024) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(accessKey: string, secretKey: string, day: string, host: string): HmacKey {
    const id = `${accessKey}\n${host}`;
    const known = this.#entries.get(id);
    if (known !== undefined && known.day === day && known.secretKey === secretKey) return known.key;
    const key = new HmacKey(deriveSigningKey(secretKey, day, host));
    this.#entries.delete(id);
    if (this.#entries.size >= this.#capacity) {
      const oldest = this.#entries.keys().next();
      if (!oldest.done) this.#entries.delete(oldest.value);
    }
    this.#entries.set(id, { secretKey, day, host, key });
    return key;
  }
}

import { createCipheriv, createDecipheriv, createSecretKey, hash, type KeyObject, randomBytes } from 'node:crypto';
import type { Secret } from '../secret.ts';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Makes records unreadable and unforgeable to whoever can read or write the store. */
export interface Seal {
  /** `key` is the store key: a record moved under another key does not open. */
  seal(key: string, text: string): string;
  /** undefined when the record was sealed under no key of the ring, was changed, or was never sealed. */
  open(key: string, sealed: string): string | undefined;
}

/**
 * A seal over a ring of keys, each the base64 of 32 random bytes. The first seals, all open: to rotate, put the new key
 * in front and drop the old one when the longest session is over. Throws RangeError for an empty ring or a key that is
 * not 32 bytes. Records look like `<key id>.<base64url of iv, ciphertext, tag>`.
 */
export function createSeal(keys: readonly Secret[]): Seal {
  const ring = new Map<string, KeyObject>();
  for (const key of keys) {
    const bytes = Buffer.from(key.reveal(), 'base64');
    if (bytes.length !== 32) throw new RangeError('A session sealing key must be the base64 of 32 bytes.');
    ring.set(hash('sha256', bytes, 'base64url').slice(0, 8), createSecretKey(bytes));
  }
  const [newest] = ring;
  if (newest === undefined) throw new RangeError('A session seal needs at least one key.');
  const [newestId, newestKey] = newest;

  return {
    seal(key, text) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, newestKey, iv).setAAD(Buffer.from(key));
      const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${newestId}.${sealed.toString('base64url')}`;
    },
    open(key, sealed) {
      const dot = sealed.indexOf('.');
      const opener = ring.get(sealed.slice(0, dot));
      const bytes = Buffer.from(sealed.slice(dot + 1), 'base64url');
      if (opener === undefined || bytes.length < IV_BYTES + TAG_BYTES) return undefined;
      const decipher = createDecipheriv(CIPHER, opener, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(key))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        return decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
      } catch {
        return undefined;
      }
    },
  };
}

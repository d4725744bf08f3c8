import { hash as digest, randomBytes } from 'node:crypto';
import { hash, verify } from '@node-rs/argon2';

/** OWASP's recommendation for argon2id (Password Storage Cheat Sheet): 19 MiB, two passes, one lane. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 } as const;
const PHC = /^(\$argon2id\$v=19\$m=\d{1,8},t=\d{1,4},p=\d{1,3})\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/;
const DEFAULT_PREFIX = `$argon2id$v=19$m=${PARAMETERS.memoryCost},t=${PARAMETERS.timeCost},p=${PARAMETERS.parallelism}`;

/** Longest password in bytes of UTF-8. Far beyond any passphrase; hashing megabytes is a gift to an attacker. */
export const MAX_PASSWORD_BYTES = 1024;

/** Hashes a password with argon2id into PHC form, with a fresh salt. */
export function hashPassword(password: string): Promise<string> {
  return hash(prepare(password), PARAMETERS);
}

/** Whether the password is the one that was hashed. Rejects when `passwordHash` is not an argon2 hash. */
export function verifyPassword(passwordHash: string, password: string): Promise<boolean> {
  return verify(passwordHash, prepare(password));
}

/**
 * A hash that no password matches and that takes as long to verify as one of `hashes`: what a login with an unknown
 * name is verified against, so that its time does not tell that the name is unknown. Where the hashes differ in their
 * parameters, the name picks one, always the same.
 */
export function decoyHash(name: string, hashes: readonly string[]): string {
  const pick = digest('sha256', name, 'buffer').readUInt32BE(0) % Math.max(1, hashes.length);
  const prefix = PHC.exec(hashes[pick] ?? '')?.[1] ?? DEFAULT_PREFIX;
  return `${prefix}$${unpadded(randomBytes(16))}$${unpadded(randomBytes(PARAMETERS.outputLen))}`;
}

/** Keyboards differ in how they compose a character (RFC 8265 §4.2.2: NFC). */
function prepare(password: string): string {
  return password.normalize('NFC');
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}

import type { Secret } from '../secret.ts';
import { Keypair } from '../tenant.ts';

/** A keypair as the Service's operator gives it. */
export interface ServiceKeypair {
  readonly accessKey: string;
  readonly secretKey: Secret;
  readonly isAdmin: boolean;
  /** Default true. An inactive keypair is answered like an unknown one. */
  readonly isActive?: boolean;
  /** Requests per window; default the Service's own limit. */
  readonly rateLimit?: number;
}

/** A keypair as the Service keeps it. */
export interface KeypairRecord {
  readonly keypair: Keypair;
  readonly isAdmin: boolean;
  isActive: boolean;
  readonly rateLimit: number;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

/** The keypairs of one Service by access key. */
export class Keyring {
  readonly #records = new Map<string, KeypairRecord>();
  readonly #defaultRateLimit: number;

  constructor(defaultRateLimit: number) {
    this.#defaultRateLimit = defaultRateLimit;
  }

  add(given: ServiceKeypair, createdAt: number): KeypairRecord {
    const record: KeypairRecord = {
      keypair: new Keypair(given.accessKey, given.secretKey),
      isAdmin: given.isAdmin,
      isActive: given.isActive ?? true,
      rateLimit: given.rateLimit ?? this.#defaultRateLimit,
      createdAt,
    };
    this.#records.set(given.accessKey, record);
    return record;
  }

  find(accessKey: string): KeypairRecord | undefined {
    return this.#records.get(accessKey);
  }

  remove(accessKey: string): void {
    this.#records.delete(accessKey);
  }
}

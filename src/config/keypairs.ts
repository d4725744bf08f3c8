import type { Secret } from '../secret.ts';
import { Keypair } from '../tenant.ts';

/**
 * The keypairs of one reading of the configuration. A keypair that the reading before had too is the same object, so that
 * what is known of it (its quota) outlives a reload; and so is one that several roles of a tenant share.
 */
export class Keypairs {
  readonly #known = new Map<string, Keypair>();
  readonly #previous: ReadonlyMap<string, Keypair> | undefined;

  constructor(previous?: Keypairs) {
    this.#previous = previous === undefined ? undefined : previous.#known;
  }

  /** The keypair of a tenant with this access key and secret. */
  get(tenant: string, accessKey: string, secretKey: Secret): Keypair {
    const id = `${tenant}\n${accessKey}`;
    for (const known of [this.#known.get(id), this.#previous?.get(id)]) {
      if (known?.secretKey.reveal() === secretKey.reveal()) {
        this.#known.set(id, known);
        return known;
      }
    }
    const keypair = new Keypair(accessKey, secretKey);
    this.#known.set(id, keypair);
    return keypair;
  }
}

import type { Permit } from '../exchange.ts';
import type { KeypairRefusal } from '../keypair-ring.ts';
import type { KeypairListener } from '../observe/keypair-event.ts';
import type { Keypair } from '../tenant.ts';

/** With what a request was signed, as it stood when the request was sent. */
export interface Signed {
  readonly keypair: Keypair;
  /** The refusal that stood on the keypair. */
  readonly before: KeypairRefusal | undefined;
  /** Epoch milliseconds. */
  readonly sentAt: number;
}

/** `isProblem`: it is problem+json. A 401 that is not may come from a program behind the Service, about its own users. */
export interface Answer {
  readonly status: number;
  readonly isProblem: boolean;
}

/** Learns from the upstream's answers which keypairs it accepts, and tells of every change. */
export class KeypairWatch {
  readonly #clock: () => number;
  readonly #tell: KeypairListener;

  constructor(clock: () => number, tell: KeypairListener) {
    this.#clock = clock;
    this.#tell = tell;
  }

  /**
   * Call with each answer to a signed request. After a refusal it gives the keypair that the same request may be sent
   * again with, once: a request that is refused has not been executed (service-api.md §7). It gives none to a request
   * whose keypair was set aside when it was sent: then every other was too.
   */
  judge(permit: Permit, { keypair, before, sentAt }: Signed, { status, isProblem }: Answer): Keypair | undefined {
    if (status === 401 && isProblem) return this.#refused(permit, keypair, before, sentAt);
    if (provesKeypair(status)) this.#accepted(permit, keypair, before, sentAt);
    return undefined;
  }

  #refused(permit: Permit, keypair: Keypair, before: KeypairRefusal | undefined, sentAt: number): Keypair | undefined {
    const now = this.#clock();
    const isNews = permit.ring.refuse(keypair, before, now);
    const other = permit.ring.replacement(keypair, now);
    if (isNews) {
      const replacedBy = other?.refusal === undefined ? other?.accessKey : undefined;
      const until = keypair.refusal?.until ?? now;
      this.#tell({ kind: 'refused', ...about(permit, keypair), until, replacedBy });
    }
    return before === undefined || sentAt >= before.until ? other : undefined;
  }

  #accepted(permit: Permit, keypair: Keypair, before: KeypairRefusal | undefined, sentAt: number): void {
    const { ring } = permit;
    if (before !== undefined && ring.accept(keypair, before)) {
      this.#tell({ kind: 'accepted', ...about(permit, keypair) });
    }
    if (ring.signer === keypair) return;
    const from = ring.handOver(keypair, sentAt, this.#clock());
    if (from !== undefined) this.#tell({ kind: 'rotated', ...about(permit, keypair), from: from.accessKey });
  }
}

/** Errors that a server, or a balancer before it, may answer without having looked at the signature prove nothing. */
function provesKeypair(status: number): boolean {
  return status < 500 && status !== 400 && status !== 401 && status !== 429;
}

function about({ inbound, role }: Permit, { accessKey }: Keypair) {
  return { tenant: inbound.tenant.name, role, accessKey, requestId: inbound.requestId };
}

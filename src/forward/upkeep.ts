import type { Snapshot } from '../snapshot.ts';
import type { Endpoints } from './endpoints.ts';
import type { HealthChecks } from './health-check.ts';
import type { Transport } from './transport.ts';

/** In milliseconds. */
const EVERY = 250;

interface UpkeepParts {
  readonly snapshot: () => Snapshot;
  readonly transport: Transport;
  readonly endpoints: Endpoints;
  readonly health: HealthChecks;
}

/** What is done beside the requests: endpoints that left the configuration are let go, those out of use are looked after. */
export class Upkeep {
  readonly #parts: UpkeepParts;
  readonly #timer: NodeJS.Timeout;
  #seen: Snapshot | undefined;

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => this.#run(), EVERY).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #run(): void {
    const { snapshot, transport, endpoints, health } = this.#parts;
    const current = snapshot();
    const upstreams = current.tenants.map(({ upstream }) => upstream);
    if (current !== this.#seen) {
      this.#seen = current;
      transport.retain(upstreams);
      endpoints.retain(new Set(upstreams.flatMap((upstream) => upstream.endpoints)));
    }
    health.run(upstreams);
  }
}

import type { Clients } from '../clients.ts';
import type { Load, LoadResult, Target } from '../load.ts';
import type { RequestShape } from '../workload.ts';

/** A load generator of our own, for machines without wrk. It takes more of the upstream's core than wrk does. */
export class BuiltInLoad implements Load {
  readonly kind = 'built-in';
  readonly #clients: Clients;

  constructor(clients: Clients) {
    this.#clients = clients;
  }

  run(target: Target, request: RequestShape, times: { connections: number; seconds: number }): Promise<LoadResult> {
    return this.#clients.run('requests.ts', target, request, times);
  }
}

import { endpointAlarm } from '../observe/endpoint-event.ts';
import { type KeypairListener, keypairAlarm } from '../observe/keypair-event.ts';
import type { Log } from '../observe/log.ts';
import { DayKeyCache } from '../signing/day-key.ts';
import type { Snapshot } from '../snapshot.ts';
import { Endpoints } from './endpoints.ts';
import type { ForwardParts } from './forward.ts';
import { HealthChecks } from './health-check.ts';
import { KeypairWatch } from './keypair-watch.ts';
import { Transport } from './transport.ts';
import { Upkeep } from './upkeep.ts';

interface Given {
  /** The configuration in force. */
  readonly snapshot: () => Snapshot;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Hears of every change of an endpoint or a keypair. */
  readonly log: Log;
  /** Hears of keypairs too. */
  readonly onKeypair: KeypairListener | undefined;
}

/** What one gateway forwards with. */
export function createForwardParts({ snapshot, clock, log, onKeypair }: Given): ForwardParts {
  const transport = new Transport();
  const alarm = endpointAlarm(log);
  const endpoints = new Endpoints((event) => {
    alarm(event);
    // Those who wait for a connection to it wait in vain.
    if (event.kind === 'breaker' && event.to === 'open') transport.shed(event.endpoint);
  });
  const health = new HealthChecks(endpoints, transport, clock);
  const upkeep = new Upkeep({ snapshot, transport, endpoints, health });
  return {
    transport,
    endpoints,
    keys: new DayKeyCache(),
    keypairs: new KeypairWatch(clock, keypairAlarm(log, onKeypair)),
    clock,
    draining: false,
    close() {
      upkeep.close();
      transport.close();
    },
  };
}

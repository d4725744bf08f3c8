import type { KeypairListener } from '../observe/keypair-event.ts';
import { DayKeyCache } from '../signing/day-key.ts';
import { Endpoints } from './endpoints.ts';
import type { ForwardParts } from './forward.ts';
import { KeypairWatch } from './keypair-watch.ts';
import { Transport } from './transport.ts';

/** What one gateway forwards with. `clock` gives epoch milliseconds. */
export function createForwardParts(clock: () => number, onKeypair: KeypairListener): ForwardParts {
  return {
    transport: new Transport(),
    endpoints: new Endpoints(),
    keys: new DayKeyCache(),
    keypairs: new KeypairWatch(clock, onKeypair),
    clock,
    draining: false,
  };
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Permit } from '../exchange.ts';
import type { RequestEvent } from '../observe/request-event.ts';
import type { DayKeyCache } from '../signing/day-key.ts';
import type { ReceivedBody } from './bodies/received.ts';
import type { Endpoints } from './endpoints.ts';
import type { KeypairWatch } from './keypair-watch.ts';
import type { Transport } from './transport.ts';

/** What forwarding needs that outlives a request. */
export interface ForwardParts {
  readonly transport: Transport;
  readonly endpoints: Endpoints;
  readonly keys: DayKeyCache;
  readonly keypairs: KeypairWatch;
  readonly clock: () => number;
  /** From now on every answer closes its connection. */
  draining: boolean;
  /** Breaks what is still under way. */
  readonly close: () => void;
}

/** One permitted request on its way. */
export interface Forwarding {
  readonly permit: Permit;
  /** The body as received, which forwarding releases, or the request itself where it is streamed straight through. */
  readonly body: ReceivedBody | IncomingMessage | undefined;
  readonly reply: ServerResponse;
  /** Name, value, … added to the relayed response: CORS. */
  readonly extraHeaders: readonly string[];
  readonly event: RequestEvent;
  /** Called when the response turns out to be an event stream; gives what to call at its end. */
  readonly onEventStream: (close: () => void) => () => void;
  /** Called with a Problem or ClientGone while nothing has been sent to the browser. */
  readonly refuse: (reason: unknown) => void;
}

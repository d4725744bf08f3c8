import { jsonOfSize } from './workload.ts';

/** Where the upstream answers with the reply below, whatever the method; it does not wait for a body. */
export const REPLY_PATH = '/v2/reply';
/** Where it answers with `LARGE_BYTES` of data. */
export const LARGE_PATH = '/v2/large';
/** Where it reads a body to its end and answers with how long it was: `{"received":1024}`. */
export const UPLOAD_PATH = '/v2/upload';
/** Where it answers with what it was sent, the body included: a Seen as JSON. */
export const SEEN_PATH = '/v2/seen';
/** An event stream: first an event `seen` with a Seen, then every `EVENT_INTERVAL` one of `data: <microseconds> …`. */
export const EVENTS_PATH = '/v2/events';
/** A WebSocket that echoes, but for the message `seen`, which it answers with the handshake as a Seen. */
export const ECHO_PATH = '/v2/echo';

export const REPLY_BODY = jsonOfSize(1024);
export const LARGE_BYTES = 10 * 2 ** 20;
/** Milliseconds. */
export const EVENT_INTERVAL = 20;

/** On every reply (service-api.md §8). */
export const RATE_HEADERS = {
  'X-RateLimit-Limit': '30000',
  'X-RateLimit-Remaining': '29999',
  'X-RateLimit-Reset': '900',
};

/** What the upstream saw of a request. */
export interface Seen {
  readonly method: string;
  readonly target: string;
  /** Names and values, in order. */
  readonly headers: readonly (readonly [string, string])[];
  /** Of the body, in hex; null where there is none to read. */
  readonly bodySha256: string | null;
}

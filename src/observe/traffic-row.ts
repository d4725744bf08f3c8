import { bucketOf, LATENCY_BUCKETS } from './latency-scale.ts';
import { isServerError, isTimed } from './observers.ts';
import type { RequestEvent } from './request-event.ts';

/** Columns of a row of traffic: three counts, then the histogram of latencies. */
export const REQUESTS = 0;
export const CLIENT_ERRORS = 1;
export const SERVER_ERRORS = 2;
export const LATENCIES = 3;
export const TRAFFIC_COLUMNS = LATENCIES + LATENCY_BUCKETS;

/** The column in which a request counts as an error; `REQUESTS`, where it counts anyway, when it is none. */
export function errorColumn(event: RequestEvent): number {
  if (isServerError(event)) return SERVER_ERRORS;
  return event.status >= 400 ? CLIENT_ERRORS : REQUESTS;
}

/** The column of a request's latency; `REQUESTS` where that says nothing. `now`: on the scale of `startedMono`. */
export function latencyColumn(event: RequestEvent, now: number): number {
  return isTimed(event) ? LATENCIES + bucketOf(now - event.startedMono) : REQUESTS;
}

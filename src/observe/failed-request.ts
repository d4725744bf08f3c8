import type { RequestEvent } from './request-event.ts';

/** Failed requests that are remembered one by one. */
export const FAILURES = 8;

/** One failed request, to be looked up in the log by its id. */
export interface FailedRequest {
  readonly requestId: string;
  /** When it began, epoch milliseconds. */
  readonly at: number;
  readonly tenant: string | undefined;
  readonly method: string;
  readonly route: string | undefined;
  readonly status: number;
  readonly code: string | undefined;
  readonly reason: string | undefined;
}

export function failureOf(event: RequestEvent): FailedRequest {
  const { requestId, startedAt, tenant, method, route, status, code, reason } = event;
  return { requestId, at: startedAt, tenant, method, route, status, code, reason };
}

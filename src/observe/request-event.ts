import type { ServerResponse } from 'node:http';
import { type RequestTrace, startTrace } from './trace.ts';
import type { TraceContext } from './trace-context.ts';

/**
 * What is remembered of one request for its single log line. Stages fill it in as they learn; nothing in it is a secret,
 * a cookie, a header value or a query string.
 */
export interface RequestEvent {
  readonly requestId: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Monotonic milliseconds. */
  readonly startedMono: number;
  readonly kind: 'http' | 'upgrade';
  readonly method: string;
  client: string;
  readonly trace: RequestTrace;
  tenant: string | undefined;
  /** Of the tenant's, the one that was asked for. */
  origin: string | undefined;
  /** Path without its query string, at most 256 characters. */
  path: string | undefined;
  /** Path prefix of the route that matched. */
  route: string | undefined;
  /** The store key of the session, a hash; its first eight characters are logged. */
  session: string | undefined;
  /** The user's name; for the audit log only. */
  subject: string | undefined;
  role: string | undefined;
  status: number;
  /** Code of the gateway's own refusal. */
  code: string | undefined;
  /** What the refusal was about, or what failed: for operators. */
  reason: string | undefined;
  endpoint: string | undefined;
  attempts: number;
  /** Milliseconds from the first attempt to the response's head. */
  upstreamMs: number | undefined;
  bytesIn: number;
  /** Of the body; of a WebSocket all there was. */
  bytesOut: number;
  /** The client left, or the reply broke, before it was whole. */
  aborted: boolean;
  /** The reply is a stream of server-sent events, which lasts as long as both sides like. */
  eventStream: boolean;
}

export function openEvent(
  requestId: string,
  kind: RequestEvent['kind'],
  method: string,
  client: string,
  now: number,
  accepted?: TraceContext,
): RequestEvent {
  return {
    requestId,
    startedAt: now,
    startedMono: performance.now(),
    kind,
    method,
    client,
    trace: startTrace({ requestId, method, client }, accepted),
    tenant: undefined,
    origin: undefined,
    path: undefined,
    route: undefined,
    session: undefined,
    subject: undefined,
    role: undefined,
    status: 0,
    code: undefined,
    reason: undefined,
    endpoint: undefined,
    attempts: 0,
    upstreamMs: undefined,
    bytesIn: 0,
    bytesOut: 0,
    aborted: false,
    eventStream: false,
  };
}

const counted = new WeakSet<ServerResponse>();

/** Counts the body of a reply that is made here. A relayed one is counted as it arrives, which costs less. */
export function countBytes(event: RequestEvent, reply: ServerResponse): void {
  if (counted.has(reply)) return;
  counted.add(reply);
  for (const name of ['write', 'end'] as const) {
    const send = reply[name].bind(reply) as (...all: unknown[]) => unknown;
    const sendCounted = (chunk: unknown, ...rest: unknown[]) => {
      if (typeof chunk === 'string' || chunk instanceof Uint8Array) event.bytesOut += Buffer.byteLength(chunk);
      return send(chunk, ...rest);
    };
    Object.assign(reply, { [name]: sendCounted });
  }
}

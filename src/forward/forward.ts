import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Permit } from '../exchange.ts';
import type { RequestEvent } from '../observe/request-event.ts';
import { Problem } from '../problem.ts';
import { EMPTY_BODY_HASH } from '../signing/canonical.ts';
import type { DayKeyCache } from '../signing/day-key.ts';
import { sign } from '../signing/sign.ts';
import type { Keypair } from '../tenant.ts';
import { ClientGone, limitedBody, type ReceivedBody } from './body.ts';
import type { Endpoints, Outcome } from './endpoints.ts';
import { failureOf, problemOf } from './failure.ts';
import type { KeypairWatch } from './keypair-watch.ts';
import { ReplyRelay } from './reply.ts';
import { type Attempt, requestHeaders } from './request-headers.ts';
import { mayRetry } from './retry.ts';
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
}

/** One permitted request on its way. */
export interface Forwarding {
  readonly permit: Permit;
  /** The body in memory, or the request itself where it is streamed straight through. */
  readonly body: ReceivedBody | IncomingMessage | undefined;
  readonly reply: ServerResponse;
  /** Name, value, … added to the relayed response: CORS. */
  readonly extraHeaders: readonly string[];
  readonly event: RequestEvent;
  /** Called when the response turns out to be an event stream; gives what to call at its end. */
  readonly onEventStream: (close: () => void) => () => void;
}

/** Signs one attempt: date, signature and headers are made afresh for each (design: a retry carries a fresh stamp). */
export function stamp(
  permit: Permit,
  keypair: Keypair,
  endpoint: string,
  body: { readonly hash: string; readonly contentLength: number | undefined },
  parts: Pick<ForwardParts, 'keys' | 'clock'>,
): Attempt {
  const { inbound } = permit;
  const { dialect, version, signedHost } = inbound.tenant.upstream;
  const host = signedHost ?? endpoint.slice(endpoint.indexOf('//') + 2);
  const contentType = inbound.headers['content-type'] ?? 'application/json';
  const request = { method: inbound.method, uri: inbound.target, host, contentType, version, bodyHash: body.hash };
  const signature = sign(dialect, parts.keys, keypair, request, parts.clock());
  return { host, contentType, signature, contentLength: body.contentLength };
}

/**
 * Sends a permitted request upstream and relays the answer onto `reply`. Resolves when the reply is over, whole or broken;
 * rejects with a Problem while nothing has been sent to the browser yet.
 */
export function forward(forwarding: Forwarding, parts: ForwardParts): Promise<void> {
  return new Promise((resolve, reject) => {
    const course: Course = { tried: [], keypair: forwarding.permit.keypair, wasRefused: false };
    const attempt = () => startAttempt(forwarding, parts, course, { resolve, reject, again: attempt });
    attempt();
  });
}

/** How far the attempts at one request have come. */
interface Course {
  /** Endpoints it failed on. */
  readonly tried: string[];
  keypair: Keypair;
  /** The Service refused one keypair already; what it says to the second is relayed. */
  wasRefused: boolean;
}

interface Turns {
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
  readonly again: () => void;
}

function startAttempt(forwarding: Forwarding, parts: ForwardParts, course: Course, turns: Turns): void {
  const { permit, body, reply, event } = forwarding;
  const { inbound } = permit;
  const { upstream } = inbound.tenant;
  const { tried, keypair } = course;
  const signed = { keypair, before: keypair.refusal, sentAt: parts.clock() };
  const lease = parts.endpoints.lease(upstream, tried, signed.sentAt);
  const streamed = body !== undefined && !('bytes' in body) ? limitedBody(body, permit.route.maxBody) : undefined;
  const received = body !== undefined && 'bytes' in body ? body : undefined;
  const declared = inbound.body.kind === 'sized' ? inbound.body.length : undefined;
  const startedAt = performance.now();
  event.endpoint = lease.origin;
  event.attempts++;
  const trace = event.trace.attempt(lease.origin, inbound.target, event);
  let streamOver: (() => void) | undefined;
  let clientLeft = false;

  const onClose = () => {
    if (reply.writableFinished) return;
    clientLeft = true;
    relay.abandon();
  };
  const over = (outcome: Outcome, failure?: string) => {
    reply.off('close', onClose);
    trace.end(failure);
    streamOver?.();
    lease.release(outcome, parts.clock());
  };
  const relay = new ReplyRelay(inbound, lease.origin, reply, forwarding.extraHeaders, {
    onHead(head, status) {
      trace.answered(status);
      event.upstreamMs = performance.now() - startedAt;
      event.eventStream = head.isEventStream;
      lease.noteDate(head.date, parts.clock(), event.upstreamMs);
      if (head.quota !== undefined) keypair.quota = head.quota;
      const other = parts.keypairs.judge(permit, signed, { status, isProblem: head.isProblem });
      if (other !== undefined && streamed === undefined && !course.wasRefused) {
        course.wasRefused = true;
        course.keypair = other;
        over('answered');
        // Out of the parser that is still reading the refusal.
        process.nextTick(turns.again);
        return false;
      }
      if (parts.draining) reply.shouldKeepAlive = false;
      if (head.isEventStream) streamOver = forwarding.onEventStream(() => reply.destroy());
      return true;
    },
    onBytes(length) {
      event.bytesOut += length;
    },
    onDone() {
      over('answered');
      turns.resolve();
    },
    onBroken(error) {
      const { code } = failureOf(error);
      if (!clientLeft) event.reason = code;
      over(clientLeft ? 'abandoned' : 'failed', code);
      turns.resolve();
    },
    onFailure(error) {
      if (streamed?.errored) return refuse(streamed.errored);
      if (reply.destroyed) return refuse(new ClientGone('the client left before the upstream answered'));
      const failure = failureOf(error);
      event.reason = failure.code;
      over(failure.kind.startsWith('connect') ? 'unreachable' : 'failed', failure.code);
      tried.push(lease.origin);
      const state = {
        attempt: tried.length,
        bodyReplayable: streamed === undefined,
        untriedEndpoint: upstream.endpoints.some((origin) => !tried.includes(origin)),
      };
      if (mayRetry(failure, inbound.method, state)) turns.again();
      else turns.reject(problemOf(failure));
    },
  });
  const refuse = (reason: unknown) => {
    over('abandoned', reason instanceof Problem ? reason.code : 'aborted');
    turns.reject(reason);
  };

  reply.once('close', onClose);
  try {
    const stamped = stamp(
      permit,
      keypair,
      lease.origin,
      {
        hash: received?.hash ?? EMPTY_BODY_HASH,
        contentLength: streamed === undefined ? received?.bytes.length : declared,
      },
      parts,
    );
    parts.transport.dispatch(
      upstream,
      lease.origin,
      {
        path: inbound.target,
        method: inbound.method,
        headers: requestHeaders(permit, stamped, trace, 'http'),
        body: streamed ?? received?.bytes ?? null,
        bodyTimeout: acceptsEventStream(inbound.headers['accept']) ? 0 : upstream.timeouts.idle,
      },
      relay,
    );
  } catch (error) {
    refuse(error);
  }
}

function acceptsEventStream(accept: string | string[] | undefined): boolean {
  return typeof accept === 'string' && accept.includes('text/event-stream');
}

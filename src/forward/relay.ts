import type { Readable } from 'node:stream';
import type { ConnectionPool } from '../http1/pool.ts';
import type { ResponseHead } from '../http1/response-head.ts';
import type { ResponseHandler, WireExchange } from '../http1/wire.ts';
import type { KeypairRefusal } from '../keypair-ring.ts';
import type { AttemptTrace } from '../observe/trace.ts';
import { Problem } from '../problem.ts';
import { EMPTY_BODY_HASH } from '../signing/canonical.ts';
import type { Keypair } from '../tenant.ts';
import { ReceivedBody } from './bodies/received.ts';
import { ClientGone, limitedBody } from './body.ts';
import type { Outcome } from './endpoint.ts';
import { type Failure, failureOf, outcomeOf, problemOf, testimonyOf, unavailable } from './failure.ts';
import type { Forwarding, ForwardParts } from './forward.ts';
import type { Lease, Testimony } from './lease.ts';
import { Reply } from './reply.ts';
import { requestHead } from './request-headers.ts';
import { relayedHead } from './response-headers.ts';
import { mayRetry } from './retry.ts';
import { stamp } from './stamp.ts';

/** A response that is dropped is read to its end, which keeps its connection, unless it is longer than so many bytes. */
const MAX_DROPPED = 64 * 1024;

/**
 * A permitted request on its way upstream, and the answer on its way back: one object from the first attempt to the last
 * byte. Every attempt is signed afresh.
 */
export class Relay implements ResponseHandler {
  readonly #forwarding: Forwarding;
  readonly #parts: ForwardParts;
  readonly #reply: Reply;
  readonly #received: ReceivedBody | undefined;
  readonly #streamed: Readable | undefined;
  /** Endpoints it failed on. */
  readonly #tried: string[] = [];
  #failure: Failure | undefined;
  #keypair: Keypair;
  /** The Service refused one keypair already; what it says to the second is relayed. */
  #wasRefused = false;
  /** Endpoints that refused its date. */
  #untimelyAt: string[] | undefined;
  /** The answer was a refused keypair's or date's: it is read to its end unseen, and the request sent again. */
  #dropped: number | undefined;
  #begun = false;
  #over = false;
  #streamOver: (() => void) | undefined;
  // Of the present attempt:
  #lease: Lease | undefined;
  #pool: ConnectionPool | undefined;
  #exchange: WireExchange | undefined;
  #trace: AttemptTrace | undefined;
  #refusalBefore: KeypairRefusal | undefined;
  #sentAt = 0;
  #startedAt = 0;

  constructor(forwarding: Forwarding, parts: ForwardParts) {
    const { permit, body, reply } = forwarding;
    this.#forwarding = forwarding;
    this.#parts = parts;
    this.#reply = new Reply(reply);
    this.#keypair = permit.keypair;
    if (body === undefined) return;
    if (body instanceof ReceivedBody) this.#received = body;
    else this.#streamed = limitedBody(body, permit.route.maxBody).on('error', (error) => this.#bodyFailed(error));
  }

  /** Starts the first attempt. */
  start(): void {
    // It may have left while its body was stored or judged, and nobody will tell.
    if (this.#forwarding.reply.destroyed) this.replyClosed();
    else this.#attempt();
  }

  /** The browser's connection was closed, or its reply is over. */
  replyClosed(): void {
    if (this.#over || this.#forwarding.reply.writableFinished) return;
    this.#letGo();
    this.#finish('abandoned', 'aborted');
    if (!this.#begun) this.#forwarding.refuse(new ClientGone('the client left before the upstream answered'));
  }

  onStart(exchange: WireExchange): void {
    this.#exchange = exchange;
  }

  onHead(head: ResponseHead): void {
    const { permit, event, reply, extraHeaders } = this.#forwarding;
    const parts = this.#parts;
    const lease = this.#lease as Lease;
    const keypair = this.#keypair;
    const relayed = relayedHead(head, permit.inbound, lease.origin);
    const now = parts.clock();
    this.#trace?.answered(head.status);
    event.upstreamMs = performance.now() - this.#startedAt;
    event.eventStream = relayed.isEventStream;
    const untimely = lease.heard(head.status, relayed, now, event.upstreamMs);
    if (relayed.quota !== undefined) keypair.quota = relayed.quota;
    // A refused date says nothing of the keypair.
    const signed = { keypair, before: this.#refusalBefore, sentAt: this.#sentAt };
    const answer = { status: head.status, isProblem: relayed.isProblem };
    const other = untimely ? undefined : parts.keypairs.judge(permit, signed, answer);
    if (this.#streamed === undefined && (untimely ? this.#isNew(lease.origin) : this.#changeTo(other))) {
      this.#dropped = 0;
      return;
    }
    if (parts.draining) reply.shouldKeepAlive = false;
    if (relayed.isEventStream) this.#streamOver = this.#forwarding.onEventStream(() => reply.destroy());
    for (const text of extraHeaders) relayed.headers.push(text);
    this.#begun = true;
    // It is not sent again, and an answer may last: an event stream, a slow reader.
    if (this.#exchange?.requestSent) this.#received?.release();
    this.#reply.begin(head, relayed.headers);
  }

  onData(chunk: Buffer): void {
    if (this.#dropped !== undefined) {
      this.#dropped += chunk.length;
      if (this.#dropped > MAX_DROPPED) {
        this.#exchange?.abort(this);
        this.#again();
      }
      return;
    }
    this.#forwarding.event.bytesOut += chunk.length;
    this.#reply.write(chunk, this.#exchange as WireExchange, this);
  }

  onPause(): void {
    if (this.#begun) this.#reply.flush(this.#exchange as WireExchange, this);
  }

  onEnd(): void {
    if (this.#dropped !== undefined) {
      this.#again();
      return;
    }
    this.#reply.end();
    this.#finish('answered');
  }

  onError(error: unknown, sent: boolean): void {
    if (this.#dropped !== undefined) {
      this.#again();
    } else if (this.#begun) {
      const { code } = failureOf(error, sent);
      this.#forwarding.event.reason = code;
      this.#finish(code === 'CLIENT_STALLED' ? 'abandoned' : 'failed', code);
      this.#reply.break();
    } else {
      this.#failed(error, sent);
    }
  }

  #attempt(): void {
    const { permit, event } = this.#forwarding;
    const { inbound } = permit;
    const { upstream } = inbound.tenant;
    const parts = this.#parts;
    const received = this.#received;
    const streamed = this.#streamed;
    const sentAt = parts.clock();
    const lease = parts.endpoints.lease(upstream, this.#tried, sentAt);
    this.#lease = lease;
    if (lease === undefined) {
      const failure = this.#failure;
      const retryAfter = parts.endpoints.retryAfter(upstream, sentAt);
      this.#giveUp(failure === undefined ? unavailable(retryAfter) : problemOf(failure));
      return;
    }
    this.#dropped = undefined;
    this.#exchange = undefined;
    this.#refusalBefore = this.#keypair.refusal;
    this.#sentAt = sentAt;
    this.#startedAt = performance.now();
    event.endpoint = lease.origin;
    event.attempts++;
    const trace = event.trace.attempt(lease.origin, inbound.target, event);
    this.#trace = trace;
    const declared = inbound.body.kind === 'sized' ? inbound.body.length : undefined;
    const chunked = streamed !== undefined && declared === undefined;
    const contentLength = streamed === undefined ? received?.length : declared;
    try {
      const body = { hash: received?.hash ?? EMPTY_BODY_HASH, contentLength };
      const stamped = stamp(permit, this.#keypair, lease.origin, body, parts.keys, sentAt + lease.clockOffset);
      this.#pool = parts.transport.pool(upstream, lease.origin);
      this.#pool.start(
        {
          head: requestHead(permit, stamped, trace, chunked ? 'chunked' : 'http'),
          isHead: inbound.method === 'HEAD',
          body: streamed ?? received?.open((problem) => this.#bodyFailed(problem)),
          chunked,
          fresh: this.#tried.length > 0,
          headersTimeout: upstream.timeouts.headers,
          idleTimeout: acceptsEventStream(inbound.headers['accept']) ? 0 : upstream.timeouts.idle,
        },
        this,
      );
    } catch (error) {
      this.#refuse(error);
    }
  }

  #again(): void {
    this.#release('answered');
    this.#attempt();
  }

  #failed(error: unknown, sent: boolean): void {
    const { permit, event } = this.#forwarding;
    const { upstream } = permit.inbound.tenant;
    const failure = failureOf(error, sent);
    this.#failure = failure;
    const lease = this.#lease as Lease;
    const tried = this.#tried;
    const now = this.#parts.clock();
    const { endpoints } = this.#parts;
    event.reason = failure.code;
    tried.push(lease.origin);
    const untriedEndpoint = endpoints.hasOther(upstream, tried, now);
    const state = { attempt: tried.length, bodyReplayable: this.#streamed === undefined, untriedEndpoint };
    const retries = mayRetry(failure, permit.inbound.method, state) && lease.mayRetry(now);
    // What is asked of the same endpoint once more is one request to it: what comes of that counts.
    const says = retries && !untriedEndpoint ? 'nothing' : testimonyOf(failure, sent);
    this.#release(outcomeOf(failure), failure.code, says);
    if (retries) this.#attempt();
    else this.#giveUp(problemOf(failure, endpoints.retryAfter(upstream, now)));
  }

  /** No attempt is under way, and there will be none. */
  #giveUp(problem: Problem): void {
    this.#over = true;
    this.#received?.release();
    this.#forwarding.refuse(problem);
  }

  #refuse(reason: unknown): void {
    this.#finish('abandoned', reason instanceof Problem ? reason.code : 'aborted');
    this.#forwarding.refuse(reason);
  }

  /** A body that is streamed turned out too large, or its client left; or a file gave no more. */
  #bodyFailed(reason: Error): void {
    if (this.#over) return;
    this.#letGo();
    if (!this.#begun) {
      this.#refuse(reason);
    } else {
      this.#finish('abandoned', 'aborted');
      this.#reply.break();
    }
  }

  /** The upstream hears nothing more of this request. */
  #letGo(): void {
    if (this.#exchange === undefined) this.#pool?.cancel(this);
    else this.#exchange.abort(this);
  }

  #finish(outcome: Outcome, failure?: string): void {
    this.#over = true;
    this.#streamOver?.();
    this.#release(outcome, failure);
    this.#received?.release();
  }

  #release(outcome: Outcome, failure?: string, says?: Testimony): void {
    this.#trace?.end(failure);
    this.#lease?.release(outcome, this.#parts.clock(), says);
  }

  /** Whether an endpoint refuses its date for the first time: now that its clock is known it will not again. */
  #isNew(origin: string): boolean {
    if (this.#untimelyAt?.includes(origin) === true) return false;
    this.#untimelyAt ??= [];
    this.#untimelyAt.push(origin);
    return true;
  }

  /** Whether there is another keypair to try, once. */
  #changeTo(other: Keypair | undefined): boolean {
    if (other === undefined || this.#wasRefused) return false;
    this.#wasRefused = true;
    this.#keypair = other;
    return true;
  }
}

function acceptsEventStream(accept: string | string[] | undefined): boolean {
  return typeof accept === 'string' && accept.includes('text/event-stream');
}

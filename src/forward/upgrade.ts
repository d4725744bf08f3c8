import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent } from 'node:https';
import type { Socket } from 'node:net';
import { createProxyServer } from 'http-proxy-3';
import type { Permit } from '../exchange.ts';
import type { RequestEvent } from '../observe/request-event.ts';
import type { Problem } from '../problem.ts';
import { EMPTY_BODY_HASH } from '../signing/canonical.ts';
import type { Upstream } from '../tenant.ts';
import { tlsClientOptions } from '../tls.ts';
import type { Outcome } from './endpoint.ts';
import { failureOf, problemOf, unavailable } from './failure.ts';
import type { ForwardParts } from './forward.ts';
import { headerPairs, requestHead } from './request-headers.ts';
import { receivedHead, relayedHead } from './response-headers.ts';
import { stamp } from './stamp.ts';

/** One permitted WebSocket handshake on its way. */
export interface Upgrading {
  readonly permit: Permit;
  readonly request: IncomingMessage;
  readonly socket: Socket;
  /** Bytes that arrived behind the handshake. */
  readonly head: Buffer;
  readonly event: RequestEvent;
  /** Called when both sides are connected; gives what to call at the end. */
  readonly onOpen: (close: () => void) => () => void;
  /** Called when the handshake failed and nothing has been sent; must write its answer before it returns. */
  readonly refuse: (problem: Problem) => void;
}

/**
 * Carries WebSocket handshakes and what follows them, by http-proxy-3. Of the browser's request that library is shown
 * nothing but the upgrade itself: the outgoing request gets the permit's target, headers and signature, like any other.
 */
export class UpgradeRelay {
  readonly #proxy = createProxyServer({ ws: true, toProxy: true });
  readonly #parts: ForwardParts;
  /** What each handshake's outgoing request is to be dressed in, by the stand-in request the library sees. */
  readonly #dress = new WeakMap<IncomingMessage, (outgoing: ClientRequest) => void>();

  constructor(parts: ForwardParts) {
    this.#parts = parts;
    // The library passes every error of a browser's connection on to here, and throws it if nobody listens. That the
    // connection is over is heard from its own close.
    this.#proxy.on('error', () => undefined);
    this.#proxy.on('proxyReqWs', (outgoing, request) => {
      try {
        this.#dress.get(request)?.(outgoing);
      } catch (defect) {
        // The library has not begun to listen to it: its error would be nobody's, and end the process.
        outgoing.on('error', () => undefined).destroy();
        throw defect;
      }
    });
  }

  /** Calls `over` when the connection is over, whatever became of it. */
  relay(upgrading: Upgrading, over: () => void): void {
    const { permit, request, socket, event } = upgrading;
    const { inbound } = permit;
    const { upstream } = inbound.tenant;
    const { keypair } = permit;
    const signed = { keypair, before: keypair.refusal, sentAt: this.#parts.clock() };
    const lease = this.#parts.endpoints.lease(upstream, [], signed.sentAt);
    if (lease === undefined) {
      upgrading.refuse(unavailable(this.#parts.endpoints.retryAfter(upstream, signed.sentAt)));
      over();
      return;
    }
    const startedAt = performance.now();
    event.endpoint = lease.origin;
    event.attempts = 1;
    const trace = event.trace.attempt(lease.origin, inbound.target, event);
    let answered = false;
    let outcome: Outcome = 'abandoned';
    let streamOver: (() => void) | undefined;

    const standIn: IncomingMessage = Object.create(request, {
      url: { value: inbound.target },
      headers: { value: { connection: 'Upgrade', upgrade: 'websocket' } },
    });
    // Nothing reads the socket until both sides are connected, so a browser that leaves would go unnoticed. What it sends
    // meanwhile stays in the socket's buffer: a wake-up with an empty buffer is the end of the stream.
    const onReadable = () => {
      if (socket.readableLength === 0) socket.destroy();
    };
    socket.on('readable', onReadable);
    socket.once('close', () => {
      streamOver?.();
      trace.end('aborted');
      lease.release(outcome, this.#parts.clock());
      over();
    });
    this.#dress.set(standIn, (outgoing) => {
      const body = { hash: EMPTY_BODY_HASH, contentLength: undefined };
      const { keys, clock } = this.#parts;
      const attempt = stamp(permit, keypair, lease.origin, body, keys, clock() + lease.clockOffset);
      for (const name of outgoing.getHeaderNames()) outgoing.removeHeader(name);
      setHeaders(outgoing, [
        'Connection',
        'Upgrade',
        'Upgrade',
        'websocket',
        ...headerPairs(requestHead(permit, attempt, trace, 'upgrade')),
      ]);
      outgoing.path = inbound.target;
      const timer = setTimeout(() => outgoing.destroy(new HandshakeTimeout()), upstream.timeouts.headers);
      socket.once('close', () => {
        clearTimeout(timer);
        if (!answered) outgoing.destroy();
      });
      const onAnswer = (response: IncomingMessage, ownHeaders: Record<string, string>) => {
        answered = true;
        outcome = 'answered';
        clearTimeout(timer);
        socket.off('readable', onReadable);
        event.upstreamMs = performance.now() - startedAt;
        event.status = response.statusCode ?? 0;
        trace.answered(event.status);
        trace.end();
        const head = relayedHead(receivedHead(response.rawHeaders), inbound, lease.origin);
        if (head.quota !== undefined) keypair.quota = head.quota;
        const untimely = lease.heard(event.status, head, this.#parts.clock(), event.upstreamMs);
        // A refusal is relayed, but the next handshake is signed in the right time or with another keypair.
        if (!untimely) {
          this.#parts.keypairs.judge(permit, signed, { status: event.status, isProblem: head.isProblem });
        }
        response.headers = { ...byName(head.headers), ...ownHeaders };
      };
      // These run before the library's own listeners, which then relay the headers as they are left here.
      outgoing.once('upgrade', (response) => {
        onAnswer(response, { connection: 'Upgrade', upgrade: 'websocket' });
        streamOver = upgrading.onOpen(() => socket.destroy());
      });
      outgoing.once('response', (response) => {
        onAnswer(response, { connection: 'close' });
        response.once('close', () => response.complete || socket.destroy());
      });
    });

    this.#proxy.ws(
      standIn,
      socket,
      upgrading.head,
      { target: lease.origin, connectTimeout: upstream.timeouts.connect, ...agentOf(upstream) },
      (error) => {
        const failure = failureOf(error);
        event.reason = failure.code;
        trace.end(failure.code);
        if (!answered && !socket.destroyed) outcome = failure.kind.startsWith('connect') ? 'unreachable' : 'failed';
        // The library ends the socket as soon as this returns.
        if (!answered && !socket.destroyed) upgrading.refuse(problemOf(failure));
      },
    );
  }
}

/** A server name can be given to an agent only; this one keeps no connection. */
function agentOf({ tls }: Upstream): { agent?: Agent } {
  return tls === undefined ? {} : { agent: new Agent(tlsClientOptions(tls)) };
}

class HandshakeTimeout extends Error {
  readonly code = 'UPSTREAM_HEADERS_TIMEOUT';
}

/** Sets flat name-value pairs, those of one name together. */
function setHeaders(outgoing: ClientRequest, pairs: readonly string[]): void {
  for (const [name, values] of Object.entries(grouped(pairs, (name) => name))) outgoing.setHeader(name, values);
}

function byName(pairs: readonly string[]): Record<string, string[]> {
  return grouped(pairs, (name) => name.toLowerCase());
}

function grouped(pairs: readonly string[], keyOf: (name: string) => string): Record<string, string[]> {
  const groups: Record<string, string[]> = Object.create(null);
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    const key = keyOf(pairs[i] as string);
    const values = groups[key] ?? [];
    values.push(pairs[i + 1] as string);
    groups[key] = values;
  }
  return groups;
}

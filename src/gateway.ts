import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { createEdgeApp, type EdgeEnv } from './edge/app.ts';
import { Door, type Visit } from './edge/door.ts';
import { type Arrival, toInbound } from './edge/intake.ts';
import { corsHeaders } from './edge/refusal.ts';
import type { EdgeHandlers } from './edge/server.ts';
import type { Admission, Inbound } from './exchange.ts';
import { ClientGone, receiveBody } from './forward/body.ts';
import type { Endpoints } from './forward/endpoints.ts';
import { createForwardParts } from './forward/parts.ts';
import { Relay } from './forward/relay.ts';
import { UpgradeRelay } from './forward/upgrade.ts';
import type { FailedAttempts } from './login/attempts.ts';
import { createLoginMethods } from './login/methods.ts';
import { type Audit, NO_AUDIT } from './observe/audit.ts';
import { type KeypairListener, keypairAlarm } from './observe/keypair-event.ts';
import type { Log } from './observe/log.ts';
import { admit, decide } from './policy/decide.ts';
import { findRoute, isSafe, matchRoute } from './policy/route.ts';
import { Problem } from './problem.ts';
import { clearCookie, readSessionId, sessionCookieName } from './session/cookie.ts';
import { requireSameOrigin } from './session/csrf.ts';
import { Sessions } from './session/sessions.ts';
import type { SessionStore } from './session/store.ts';
import { LiveStreams } from './session/streams.ts';
import type { Snapshot } from './snapshot.ts';

export interface GatewayOptions {
  /** The configuration in force; asked once per request. */
  readonly snapshot: () => Snapshot;
  readonly store: SessionStore;
  readonly attempts: FailedAttempts;
  readonly log: Log;
  /** Hears of keypairs that are refused, accepted again or followed by another; the log does anyway. */
  readonly onKeypair?: KeypairListener;
  /** Kept nowhere when left out. */
  readonly audit?: Audit;
  /** Epoch milliseconds: session expiry, limits and the date of signatures. */
  readonly clock?: () => number;
}

export interface Gateway extends EdgeHandlers {
  /** The whole edge as a Hono app, to be mounted in somebody else's server on @hono/node-server. */
  readonly app: Hono<EdgeEnv>;
  /** What the operators' listener looks into. */
  readonly insides: { readonly endpoints: Endpoints; readonly sessions: Sessions; readonly streams: LiveStreams };
  /** From now on every answer closes its connection. */
  drain(): void;
  /** Breaks what is still open: live streams, then upstream connections. The stores stay with whoever opened them. */
  close(): Promise<void>;
}

/** Builds the parts and lists the stages every request and every upgrade goes through, in order. */
export function createGateway(options: GatewayOptions): Gateway {
  const clock = options.clock ?? Date.now;
  const { store, log, snapshot, attempts, audit = NO_AUDIT } = options;
  const sessions = new Sessions({ store, clock });
  const streams = new LiveStreams({ store, clock });
  const logins = createLoginMethods({ attempts });
  const door = new Door({ snapshot, clock, log, audit });
  const parts = createForwardParts(clock, keypairAlarm(log, options.onKeypair));
  const upgrades = new UpgradeRelay(parts);
  const admitted = new WeakMap<IncomingMessage, { visit: Visit; arrival: Arrival }>();

  const routed = (inbound: Inbound) => matchRoute(inbound.tenant, inbound) !== undefined;

  /** Who asks and whether the head of the request may pass: everything before a body is read. */
  async function judge(visit: Visit, inbound: Inbound, kind: 'http' | 'upgrade'): Promise<Admission> {
    const route = findRoute(inbound.tenant, inbound);
    visit.event.route = route.path;
    const cookieName = sessionCookieName(inbound.origin);
    const cookie = readSessionId(inbound.rawHeaders, cookieName);
    if (cookie.kind === 'none') throw new Problem('unauthorized', 'There is no session: sign in first.');
    if (cookie.kind === 'malformed') throw endedSession(cookieName);
    if (kind === 'upgrade' || !isSafe(inbound, route)) requireSameOrigin(inbound.headers, inbound.tenant.origins);
    const found = sessions.resolve(cookie.id, inbound.tenant.name);
    const session = found instanceof Promise ? await found : found;
    if (session === undefined) throw endedSession(cookieName);
    door.recognise(visit, session);
    const admission = admit(inbound, session, route);
    visit.event.role = admission.role;
    return admission;
  }

  /** One routed HTTP request, stage by stage. Never rejects: what a stage throws is answered here. */
  async function relay(visit: Visit, inbound: Inbound, reply: ServerResponse): Promise<void> {
    const { request, event, context } = visit;
    try {
      const admission = await judge(visit, inbound, 'http');
      const hasBody = inbound.body.kind !== 'none';
      if (hasBody && visit.awaitsContinue) reply.writeContinue();
      const received = admission.readsBody ? await receiveBody(request, admission.route.maxBody) : undefined;
      if (received !== undefined) event.bytesIn = received.bytes.length;
      const permit = decide(admission, received?.bytes);
      context.quota = permit.keypair.quota;
      const forwarding = {
        permit,
        body: received ?? (hasBody ? request : undefined),
        reply,
        extraHeaders: context.origin === undefined ? NO_HEADERS : flat(corsHeaders(inbound.tenant, context.origin)),
        event,
        onEventStream: (close: () => void) => streams.add(permit.session, close),
        refuse: (thrown: unknown) => refuse(visit, reply, thrown),
      };
      const forwarded = new Relay(forwarding, parts);
      reply.once('close', () => forwarded.replyClosed());
      forwarded.start();
    } catch (thrown) {
      refuse(visit, reply, thrown);
    }
  }

  function refuse(visit: Visit, reply: ServerResponse, thrown: unknown): void {
    if (thrown instanceof ClientGone || reply.destroyed) reply.destroy();
    else door.refuse(visit, reply, thrown);
  }

  /** One WebSocket handshake, through the same stages. */
  async function relayUpgrade(visit: Visit, socket: Socket, head: Buffer): Promise<void> {
    const { request, event, context } = visit;
    try {
      const arrival = door.admit(visit);
      const inbound = toInbound(arrival);
      if (inbound === undefined) throw new Problem('no-route', 'No route matches this path.');
      if (inbound.method !== 'GET' || inbound.body.kind !== 'none') {
        throw new Problem('malformed-request', 'A WebSocket handshake is a GET without a body.', { close: true });
      }
      const permit = decide(await judge(visit, inbound, 'upgrade'), undefined);
      context.quota = permit.keypair.quota;
      const onOpen = (close: () => void) => streams.add(permit.session, close);
      const refuse = (problem: Problem) => door.refuseUpgrade(visit, socket, problem);
      if (socket.destroyed) throw new ClientGone('the client left before it was judged');
      await new Promise<void>((over) => upgrades.relay({ permit, request, socket, head, event, onOpen, refuse }, over));
      event.bytesIn = socket.bytesRead;
      event.bytesOut = socket.bytesWritten;
    } catch (thrown) {
      if (thrown instanceof ClientGone) socket.destroy();
      else door.refuseUpgrade(visit, socket, thrown);
    }
    door.logNow(visit);
  }

  const app = createEdgeApp({ door, sessions, logins, admitted: (request) => admitted.get(request), routed, relay });
  const throughHono = getRequestListener(app.fetch, { overrideGlobalObjects: false });

  return {
    app,
    insides: { endpoints: parts.endpoints, sessions, streams },
    request(request, reply) {
      // node:http mislays what is pipelined behind an Upgrade that is not taken up.
      if (parts.draining || request.headers.upgrade !== undefined) reply.shouldKeepAlive = false;
      if (request.url === '/-/livez') return void throughHono(request, reply);
      const visit = door.open(request, 'http', 'own');
      door.logWhenOver(visit, reply);
      try {
        const arrival = door.admit(visit);
        const inbound = toInbound(arrival);
        // The measured shortcut: a routed request does not pass through Hono.
        if (inbound !== undefined && routed(inbound)) return void relay(visit, inbound, reply);
        admitted.set(request, { visit, arrival });
      } catch (thrown) {
        return door.refuse(visit, reply, thrown);
      }
      void throughHono(request, reply);
    },
    upgrade(request, socket, head) {
      socket.on('error', () => undefined);
      void relayUpgrade(door.open(request, 'upgrade', 'own'), socket, head);
    },
    unreadable: (socket, problem) => door.refuseUnreadable(socket, problem),
    drain() {
      parts.draining = true;
    },
    async close() {
      streams.close();
      parts.transport.close();
    },
  };
}

const NO_HEADERS: readonly string[] = [];

function flat(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flat();
}

/** The cookie stands for no session any more: the browser had better forget it. */
function endedSession(cookieName: string): Problem {
  return new Problem('unauthorized', 'The session has ended or never was: sign in again.', {
    headers: { 'Set-Cookie': clearCookie(cookieName) },
  });
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { createEdgeApp } from './edge/app.ts';
import { Door, type Visit } from './edge/door.ts';
import { type Arrival, toInbound } from './edge/intake.ts';
import { corsHeaderList } from './edge/refusal.ts';
import type { Admission, Inbound, Permit } from './exchange.ts';
import { Bodies } from './forward/bodies/bodies.ts';
import { ClientGone } from './forward/body.ts';
import type { Forwarding } from './forward/forward.ts';
import { createForwardParts } from './forward/parts.ts';
import { Relay } from './forward/relay.ts';
import { UpgradeRelay } from './forward/upgrade.ts';
import type { Gateway, GatewayOptions } from './gateway-contract.ts';
import { createLoginMethods } from './login/methods.ts';
import { NO_AUDIT } from './observe/audit.ts';
import { admit, decide } from './policy/decide.ts';
import { findRoute, isSafe, matchRoute } from './policy/route.ts';
import { Problem } from './problem.ts';
import { endedSession, readSessionId, sessionCookieName } from './session/cookie.ts';
import { requireSameOrigin } from './session/csrf.ts';
import type { Session } from './session/session.ts';
import { Sessions } from './session/sessions.ts';
import { LiveStreams } from './session/streams.ts';

/** Builds the parts and lists the stages every request and every upgrade goes through, in order. */
export function createGateway(options: GatewayOptions): Gateway {
  const clock = options.clock ?? Date.now;
  const { store, log, snapshot, attempts, audit = NO_AUDIT } = options;
  const sessions = new Sessions({ store, clock });
  const streams = new LiveStreams({ store, clock });
  const logins = createLoginMethods({ attempts });
  const door = new Door({ snapshot, clock, log, audit, exchange: options.exchange });
  const parts = createForwardParts({ snapshot, clock, log, onKeypair: options.onKeypair });
  const bodies = new Bodies(snapshot().bodies, (err) => log.error({ err }, 'a request body could not be stored'));
  const upgrades = new UpgradeRelay(parts);
  const admitted = new WeakMap<IncomingMessage, { visit: Visit; arrival: Arrival }>();

  const routed = (inbound: Inbound) => matchRoute(inbound.tenant, inbound) !== undefined;

  /** Who asks and whether the head of the request may pass: everything before a body is read. At once where the store is. */
  function judge(visit: Visit, inbound: Inbound, kind: 'http' | 'upgrade'): Admission | Promise<Admission> {
    const route = findRoute(inbound.tenant, inbound);
    visit.event.route = route.path;
    const cookieName = sessionCookieName(inbound.origin);
    const cookie = readSessionId(inbound.rawHeaders, cookieName);
    if (cookie.kind === 'none') throw new Problem('unauthorized', 'There is no session: sign in first.');
    if (cookie.kind === 'malformed') throw endedSession(cookieName);
    if (kind === 'upgrade' || !isSafe(inbound, route)) requireSameOrigin(inbound.headers, inbound.tenant.origins);
    const recognise = (session: Session | undefined) => {
      if (session === undefined) throw endedSession(cookieName);
      door.recognise(visit, session);
      const admission = admit(inbound, session, route);
      visit.event.role = admission.role;
      return admission;
    };
    const found = sessions.resolve(cookie.id, inbound.tenant.name);
    return found instanceof Promise ? found.then(recognise) : recognise(found);
  }

  /** One routed HTTP request, stage by stage. Never throws: what a stage throws is answered here. */
  function relay(visit: Visit, inbound: Inbound, reply: ServerResponse): void {
    const onThrown = (thrown: unknown) => refuse(visit, reply, thrown);
    try {
      const admission = judge(visit, inbound, 'http');
      if (admission instanceof Promise) admission.then((judged) => receive(visit, judged, reply)).catch(onThrown);
      else receive(visit, admission, reply)?.catch(onThrown);
    } catch (thrown) {
      onThrown(thrown);
    }
  }

  /** Reads the body where somebody has to look at it before it is sent. */
  function receive(visit: Visit, admission: Admission, reply: ServerResponse): Promise<void> | undefined {
    const hasBody = admission.inbound.body.kind !== 'none';
    const upload = admission.readsBody ? bodies.expect(admission) : undefined;
    if (hasBody && visit.awaitsContinue) reply.writeContinue();
    if (upload === undefined) {
      send(visit, decide(admission, undefined), hasBody ? visit.request : undefined, reply);
      return undefined;
    }
    return upload.receive(visit.request).then((received) => {
      visit.event.bytesIn = received.length;
      const judged = bodies.judge(admission, received);
      if (judged instanceof Promise) return judged.then((permit) => send(visit, permit, received, reply));
      return send(visit, judged, received, reply);
    });
  }

  function send(visit: Visit, permit: Permit, body: Forwarding['body'], reply: ServerResponse): void {
    const { event, context } = visit;
    const { keypair, inbound, session } = permit;
    context.quota = keypair.quota;
    const forwarded = new Relay(
      {
        permit,
        body,
        reply,
        extraHeaders: corsHeaderList(inbound.tenant, context.origin),
        event,
        onEventStream: (close) => streams.add(session, close),
        refuse: (thrown) => refuse(visit, reply, thrown),
      },
      parts,
    );
    visit.forwarded = forwarded;
    forwarded.start();
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
    } catch (thrown) {
      if (thrown instanceof ClientGone) socket.destroy();
      else door.refuseUpgrade(visit, socket, thrown);
    }
    event.bytesIn = socket.bytesRead;
    event.bytesOut = socket.bytesWritten;
    door.logNow(visit);
  }

  const app = createEdgeApp({ door, sessions, logins, admitted: (request) => admitted.get(request), routed, relay });
  const throughHono = getRequestListener(app.fetch, { overrideGlobalObjects: false });

  return {
    app,
    insides: { endpoints: parts.endpoints, sessions, streams, bodies: bodies.budgets },
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
        if (inbound !== undefined && routed(inbound)) return relay(visit, inbound, reply);
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
      parts.close();
    },
  };
}

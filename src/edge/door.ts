import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Audit } from '../observe/audit.ts';
import type { Log } from '../observe/log.ts';
import { countBytes, openEvent, type RequestEvent } from '../observe/request-event.ts';
import { newRequestId } from '../observe/request-id.ts';
import { readTraceContext } from '../observe/trace-context.ts';
import { asProblem, Problem } from '../problem.ts';
import type { Session } from '../session/session.ts';
import type { Snapshot } from '../snapshot.ts';
import { AuditTrail } from './audit-trail.ts';
import { type ClientAddresses, clientAddresses } from './client-address.ts';
import { type Arrival, arrive } from './intake.ts';
import { type LimitExchange, type LimitName, type NamedStanding, SlidingLimit } from './limits.ts';
import { type RefusalContext, refuse, refuseOnSocket } from './refusal.ts';

/** One request or upgrade from its first byte to its log line: what a refusal needs to know, and what the log will say. */
export interface Visit {
  readonly snapshot: Snapshot;
  /** The limits of that snapshot. */
  readonly limits: DoorLimits;
  readonly request: IncomingMessage;
  readonly event: RequestEvent;
  readonly context: RefusalContext;
  readonly receivedAt: number;
  /** The client waits for 100 Continue, and nobody has sent it yet. */
  readonly awaitsContinue: boolean;
  /** Set once the request is on its way upstream: it has to know when its reply is closed. */
  forwarded: { replyClosed(): void } | undefined;
}

export interface DoorOptions {
  readonly snapshot: () => Snapshot;
  readonly clock: () => number;
  readonly log: Log;
  readonly audit: Audit;
  /** Other processes that count against the same limits; this one counts alone without it. */
  readonly exchange?: LimitExchange | undefined;
}

/** Where every request comes in and every refusal goes out, over HTTP and over upgrades alike. */
export class Door {
  /** What happens here, for the audit log. */
  readonly trail: AuditTrail;
  readonly #options: DoorOptions;
  #settings: { readonly snapshot: Snapshot; readonly addresses: ClientAddresses; readonly limits: DoorLimits };

  constructor(options: DoorOptions) {
    this.#options = options;
    this.trail = new AuditTrail(options.audit);
    this.#settings = settingsOf(options.snapshot(), options.exchange);
    options.exchange?.connect((news) => {
      const now = options.clock();
      const { limits } = this.#current();
      for (const one of news) limitOf(limits, one.limit)?.hear(one, now);
    });
  }

  /**
   * Takes the request in: gives it an id, counts it against its address. Judge the head with `admit`. `source` says whose
   * server it came through: the gateway's own holds 100 Continue back, another has sent it already.
   */
  open(request: IncomingMessage, kind: 'http' | 'upgrade', source: 'own' | 'mounted'): Visit {
    const { snapshot, addresses, limits } = this.#current();
    const now = this.#options.clock();
    const requestId = newRequestId();
    const forwardedFor = request.headers['x-forwarded-for'];
    const client = addresses.of(
      request.socket.remoteAddress,
      typeof forwardedFor === 'string' ? forwardedFor : forwardedFor?.join(','),
    );
    const standing = limits.address.take(client, now);
    const context: RefusalContext = {
      requestId,
      tenant: undefined,
      origin: request.headers.origin,
      quota: undefined,
      limit: { name: 'address', standing },
    };
    const { traceparent, tracestate } = request.headers;
    const isPassedOn = traceparent !== undefined && addresses.trusts(request.socket.remoteAddress);
    const accepted = isPassedOn ? readTraceContext(traceparent, tracestate) : undefined;
    const event = openEvent(requestId, kind, request.method ?? '', client, now, accepted);
    const awaitsContinue = source === 'own' && request.headers.expect !== undefined;
    return { snapshot, limits, request, event, context, receivedAt: now, awaitsContinue, forwarded: undefined };
  }

  /** Judges the head. Throws the Problem that refuses it. */
  admit(visit: Visit): Arrival {
    const { request, event, context } = visit;
    if (!context.limit.standing.allowed) throw tooManyRequests(context.limit);
    const { expect } = request.headers;
    if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
      throw new Problem('expectation-failed', 'The only expectation met here is 100-continue.', { close: true });
    }
    const arrival = arrive(request, visit.snapshot, {
      client: event.client,
      requestId: event.requestId,
      receivedAt: visit.receivedAt,
    });
    context.tenant = arrival.tenant;
    event.tenant = arrival.tenant.name;
    event.origin = arrival.origin;
    event.path = pathOf(arrival.target.target);
    if (arrival.body.kind === 'sized') event.bytesIn = arrival.body.length;
    return arrival;
  }

  /** Notes whose request it is and counts it against session and tenant; throws `rate-limit-exceeded`. */
  recognise(visit: Visit, session: Session): void {
    const { limits } = visit;
    visit.event.session = session.key;
    visit.event.subject = session.subject;
    this.#take(visit, 'session', limits.session, session.key);
    if (limits.tenant !== undefined) this.#take(visit, 'tenant', limits.tenant, session.tenant);
  }

  /** Counts an attempt to open a session; throws `rate-limit-exceeded`. */
  countSessionCreation(visit: Visit): void {
    this.#take(visit, 'session-creation', visit.limits.sessionCreation, visit.event.client);
  }

  /** Logs the request once its reply is over. */
  logWhenOver(visit: Visit, reply: ServerResponse): void {
    reply.once('close', () => {
      const { event } = visit;
      visit.forwarded?.replyClosed();
      event.status = reply.statusCode;
      event.aborted = !reply.writableFinished;
      this.#over(event);
    });
  }

  /** Logs an upgrade, or a refusal without a reply object. */
  logNow(visit: Visit): void {
    this.#over(visit.event);
  }

  /** The one place where whatever a stage threw becomes an answer. */
  refuse(visit: Visit, reply: ServerResponse, thrown: unknown): void {
    const problem = this.#note(visit, thrown);
    countBytes(visit.event, reply);
    refuse(visit.request, reply, problem, visit.context);
  }

  refuseUpgrade(visit: Visit, socket: Socket, thrown: unknown): void {
    const problem = this.#note(visit, thrown);
    visit.event.status = problem.status;
    refuseOnSocket(socket, problem, visit.context);
  }

  /** Bytes that never became a request. */
  refuseUnreadable(socket: Socket, problem: Problem): void {
    const { addresses, limits } = this.#current();
    const now = this.#options.clock();
    const client = addresses.of(socket.remoteAddress, undefined);
    const standing = limits.address.take(client, now);
    const requestId = newRequestId();
    const event = openEvent(requestId, 'http', '', client, now);
    event.status = problem.status;
    event.code = problem.code;
    event.reason = problem.detail;
    this.trail.refusal(event, problem);
    this.#over(event);
    const limit = { name: 'address', standing };
    refuseOnSocket(socket, problem, { requestId, tenant: undefined, origin: undefined, quota: undefined, limit });
  }

  #take(visit: Visit, name: string, limit: SlidingLimit, key: string): void {
    const standing = limit.take(key, visit.receivedAt);
    if (standing.allowed) return;
    visit.context.limit = { name, standing };
    throw tooManyRequests(visit.context.limit);
  }

  #over(event: RequestEvent): void {
    event.trace.end(event);
    this.#options.log.request(event);
  }

  #note(visit: Visit, thrown: unknown): Problem {
    const problem = asProblem(thrown);
    const { event } = visit;
    event.code = problem.code;
    event.reason ??= problem.detail;
    this.trail.refusal(event, problem);
    if (problem.code === 'internal') {
      this.#options.log.error({ requestId: event.requestId, err: problem.cause }, 'a request failed by a defect');
    }
    return problem;
  }

  /** Counts start afresh only when the limits themselves have changed. */
  #current() {
    const snapshot = this.#options.snapshot();
    if (snapshot !== this.#settings.snapshot)
      this.#settings = settingsOf(snapshot, this.#options.exchange, this.#settings);
    return this.#settings;
  }
}

interface DoorLimits {
  readonly address: SlidingLimit;
  readonly session: SlidingLimit;
  readonly tenant: SlidingLimit | undefined;
  readonly sessionCreation: SlidingLimit;
}

interface DoorSettings {
  readonly snapshot: Snapshot;
  readonly addresses: ClientAddresses;
  readonly limits: DoorLimits;
}

function limitOf(limits: DoorLimits, name: LimitName): SlidingLimit | undefined {
  return name === 'session-creation' ? limits.sessionCreation : limits[name];
}

function settingsOf(snapshot: Snapshot, exchange: LimitExchange | undefined, previous?: DoorSettings): DoorSettings {
  const { limits } = snapshot;
  const isUnchanged = JSON.stringify(previous?.snapshot.limits) === JSON.stringify(limits);
  return {
    snapshot,
    addresses: clientAddresses(snapshot.listen.trustProxies),
    limits:
      previous !== undefined && isUnchanged
        ? previous.limits
        : {
            address: new SlidingLimit(limits.address, 'address', exchange),
            session: new SlidingLimit(limits.session, 'session', exchange),
            tenant: limits.tenant && new SlidingLimit(limits.tenant, 'tenant', exchange),
            sessionCreation: new SlidingLimit(limits.sessionCreation, 'session-creation', exchange),
          },
  };
}

function tooManyRequests({ name, standing }: NamedStanding): Problem {
  return new Problem(
    'rate-limit-exceeded',
    `The limit of ${standing.limit} per ${standing.window} s (${name}) is used up.`,
    {
      headers: { 'Retry-After': String(standing.reset) },
    },
  );
}

/** For the log: the query may hold what a user typed, and a path may be as long as the header limit. */
function pathOf(target: string): string {
  const mark = target.indexOf('?');
  return target.slice(0, Math.min(mark === -1 ? target.length : mark, 256));
}

import {
  type Attributes,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import { METHODS } from '../exchange.ts';
import type { RequestEvent } from './request-event.ts';
import { newSpanId } from './request-id.ts';
import { formatTraceparent, type TraceContext } from './trace-context.ts';

const NAME = 'countersign';

/** The trace a request belongs to, and its span where somebody collects spans. */
export class RequestTrace {
  readonly traceId: string;
  readonly #sampled: boolean;
  readonly #state: string | undefined;
  readonly #span: Span | undefined;
  readonly #tracer: Tracer | undefined;

  constructor(traceId: string, sampled: boolean, state: string | undefined, tracer?: Tracer, span?: Span) {
    this.traceId = traceId;
    this.#sampled = sampled;
    this.#state = state;
    this.#tracer = tracer;
    this.#span = span;
  }

  /** Opens the span of one attempt to have the request answered by `endpoint`, an origin. */
  attempt(endpoint: string, target: string, event: RequestEvent): AttemptTrace {
    const tracer = this.#tracer;
    if (tracer === undefined || this.#span === undefined) {
      return new AttemptTrace(formatTraceparent(this.traceId, newSpanId(), this.#sampled), this.#state);
    }
    const attributes = attemptAttributes(endpoint, target, event);
    const parent = trace.setSpan(ROOT_CONTEXT, this.#span);
    const span = tracer.startSpan(nameOf(event), { kind: SpanKind.CLIENT, attributes }, parent);
    const { traceId, spanId, traceFlags, traceState } = span.spanContext();
    const sampled = (traceFlags & TraceFlags.SAMPLED) !== 0;
    return new AttemptTrace(formatTraceparent(traceId, spanId, sampled), traceState?.serialize() || undefined, span);
  }

  /** Ends the request's span with what is known of it at the end. */
  end(event: RequestEvent): void {
    const span = this.#span;
    if (span === undefined) return;
    const failure = failureOf(event);
    span.updateName(nameOf(event));
    span.setAttributes(outcomeAttributes(event));
    if (failure !== undefined) {
      span.setAttribute('error.type', failure);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
  }
}

/** One attempt: the headers that tell the upstream of it, and its span where somebody collects spans. */
export class AttemptTrace {
  readonly traceparent: string;
  readonly tracestate: string | undefined;
  #span: Span | undefined;

  constructor(traceparent: string, tracestate: string | undefined, span?: Span) {
    this.traceparent = traceparent;
    this.tracestate = tracestate;
    this.#span = span;
  }

  /** The head of the answer came. */
  answered(status: number): void {
    this.#span?.setAttribute('http.response.status_code', status);
    if (status >= 400) this.#fail(String(status));
  }

  /** The attempt is over; `failure` is the code of what broke it. Only the first call counts. */
  end(failure?: string): void {
    if (failure !== undefined) this.#fail(failure);
    this.#span?.end();
    this.#span = undefined;
  }

  #fail(type: string): void {
    this.#span?.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
  }
}

/**
 * Begins the trace of a request: the accepted one, else that of an OpenTelemetry SDK, else one named by the request id.
 * Without an SDK all this costs is one look at the global provider.
 */
export function startTrace(
  request: Pick<RequestEvent, 'requestId' | 'method' | 'client'>,
  accepted: TraceContext | undefined,
): RequestTrace {
  const tracer = registeredTracer();
  const { traceId, sampled, state } = accepted ?? { traceId: request.requestId, sampled: true, state: undefined };
  if (tracer === undefined) return new RequestTrace(traceId, sampled, state);
  const attributes = { ...methodAttribute(request), 'client.address': request.client };
  const span = tracer.startSpan(nameOf(request), { kind: SpanKind.SERVER, attributes }, parentOf(accepted));
  const context = span.spanContext();
  if (!isSpanContextValid(context)) return new RequestTrace(traceId, sampled, state);
  return new RequestTrace(context.traceId, sampled, state, tracer, span);
}

function parentOf(accepted: TraceContext | undefined) {
  if (accepted === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, sampled, state } = accepted;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...(state !== undefined && { traceState: createTraceState(state) }),
  });
}

let known: { readonly provider: TracerProvider; readonly tracer: Tracer } | undefined;

/**
 * The tracer of a registered SDK. The API hands out a proxy whether or not there is one behind it; the proxy may be
 * another copy's of the API, so it is told by what it can do.
 */
function registeredTracer(): Tracer | undefined {
  const provider: TracerProvider & { getDelegateTracer?(name: string): Tracer | undefined } = trace.getTracerProvider();
  if (known?.provider === provider) return known.tracer;
  const tracer = provider.getDelegateTracer === undefined ? provider.getTracer(NAME) : provider.getDelegateTracer(NAME);
  known = tracer && { provider, tracer };
  return tracer;
}

/** Attribute names are those of OpenTelemetry's semantic conventions for HTTP. */
function attemptAttributes(endpoint: string, target: string, event: RequestEvent): Attributes {
  const { protocol, hostname, port } = new URL(endpoint);
  const mark = target.indexOf('?');
  return {
    ...methodAttribute(event),
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    // A query may hold what a user typed.
    'url.full': endpoint + (mark === -1 ? target : target.slice(0, mark)),
    ...routeAttributes(event),
    ...(event.attempts > 1 && { 'http.request.resend_count': event.attempts - 1 }),
  };
}

function outcomeAttributes(event: RequestEvent): Attributes {
  return {
    'http.response.status_code': event.status,
    ...(event.path !== undefined && { 'url.path': event.path }),
    ...(event.origin !== undefined && { 'server.address': new URL(event.origin).hostname }),
    ...(event.code !== undefined && { 'countersign.code': event.code }),
    ...routeAttributes(event),
  };
}

function routeAttributes({ route, tenant }: RequestEvent): Attributes {
  return {
    ...(route !== undefined && { 'http.route': route }),
    ...(tenant !== undefined && { 'countersign.tenant': tenant }),
  };
}

/** Methods are few: whatever else a client makes up must not become a name of its own. */
const KNOWN_METHODS: ReadonlySet<string> = new Set([...METHODS, 'OPTIONS']);

function methodAttribute({ method }: Pick<RequestEvent, 'method'>): Attributes {
  return { 'http.request.method': KNOWN_METHODS.has(method) ? method : '_OTHER' };
}

function nameOf({ method, route }: Pick<RequestEvent, 'method'> & { readonly route?: string | undefined }): string {
  const name = KNOWN_METHODS.has(method) ? method : 'HTTP';
  return route === undefined ? name : `${name} ${route}`;
}

/** What went wrong on our side or behind it: a refusal is no failure. */
function failureOf({ status, code, aborted, reason }: RequestEvent): string | undefined {
  if (status >= 500) return code ?? String(status);
  return aborted ? (reason ?? 'aborted') : undefined;
}

import {
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';

/** A span that is over. */
export interface RecordedSpan {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'other';
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly sampled: boolean;
  readonly failed: boolean;
  readonly attributes: Attributes;
}

/** The least that the OpenTelemetry API asks of an SDK: spans with ids of their own, told to `onEnd` when they end. */
export class RecordingTracer implements TracerProvider, Tracer {
  readonly #onEnd: (span: RecordedSpan) => void;
  #ids = 0;

  constructor(onEnd: (span: RecordedSpan) => void) {
    this.#onEnd = onEnd;
  }

  getTracer(): Tracer {
    return this;
  }

  startSpan(name: string, options: SpanOptions, context: Context): Span {
    const parent = trace.getSpanContext(context);
    this.#ids++;
    const spanContext: SpanContext = {
      traceId: parent?.traceId ?? `abc${String(this.#ids).padStart(29, '0')}`,
      spanId: `def${String(this.#ids).padStart(13, '0')}`,
      traceFlags: parent?.traceFlags ?? 1,
      ...(parent?.traceState !== undefined && { traceState: parent.traceState }),
    };
    const kind = options.kind === SpanKind.SERVER ? 'server' : options.kind === SpanKind.CLIENT ? 'client' : 'other';
    const attributes: Attributes = { ...options.attributes };
    let current = name;
    let failed = false;
    let isOver = false;
    const span: Span = {
      spanContext: () => spanContext,
      setAttribute(key: string, value: NonNullable<Attributes[string]>) {
        attributes[key] = value;
        return span;
      },
      setAttributes: (more: Attributes) => {
        Object.assign(attributes, more);
        return span;
      },
      addEvent: () => span,
      addLink: () => span,
      addLinks: () => span,
      setStatus({ code }: { code: SpanStatusCode }) {
        failed = code === SpanStatusCode.ERROR;
        return span;
      },
      updateName(next: string) {
        current = next;
        return span;
      },
      isRecording: () => !isOver,
      recordException: () => undefined,
      end: () => {
        if (isOver) throw new Error(`the span ${current} was ended twice`);
        isOver = true;
        const { traceId, spanId, traceFlags } = spanContext;
        const sampled = traceFlags === 1;
        const parentSpanId = parent?.spanId;
        this.#onEnd({ name: current, kind, traceId, spanId, parentSpanId, sampled, failed, attributes });
      },
    };
    return span;
  }

  startActiveSpan(): never {
    throw new Error('a gateway makes no span the active one');
  }
}

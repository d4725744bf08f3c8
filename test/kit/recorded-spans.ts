import { type Attributes, diag, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace';

/** A span that is over. */
export interface RecordedSpan {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'other';
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly failed: boolean;
  readonly attributes: Attributes;
}

export interface SpanRecorder {
  /** In the order in which they ended. */
  readonly spans: RecordedSpan[];
  /** What the SDK found wrong with the use that is made of it, a span ended twice for one. */
  readonly complaints: string[];
  /** Takes the SDK away again. */
  stop(): void;
}

/** Registers OpenTelemetry's SDK, as an operator's `--import` does, and keeps the spans it would export. */
export function recordSpans(): SpanRecorder {
  const spans: RecordedSpan[] = [];
  const complaints: string[] = [];
  const complain = (message: string) => void complaints.push(message);
  const ignore = () => undefined;
  diag.setLogger({ error: complain, warn: complain, info: ignore, debug: ignore, verbose: ignore });
  const keep = {
    onStart: ignore,
    onEnd: (span: ReadableSpan) => void spans.push(recorded(span)),
    forceFlush: async () => undefined,
    shutdown: async () => undefined,
  };
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [keep] }));
  return {
    spans,
    complaints,
    stop() {
      trace.disable();
      diag.disable();
    },
  };
}

function recorded(span: ReadableSpan): RecordedSpan {
  const { traceId, spanId } = span.spanContext();
  return {
    name: span.name,
    kind: span.kind === SpanKind.SERVER ? 'server' : span.kind === SpanKind.CLIENT ? 'client' : 'other',
    traceId,
    spanId,
    parentSpanId: span.parentSpanContext?.spanId,
    failed: span.status.code === SpanStatusCode.ERROR,
    attributes: span.attributes,
  };
}

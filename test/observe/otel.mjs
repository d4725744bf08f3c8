// What an operator's `node --import ./otel.mjs` does, with a recording tracer in place of an SDK and its exporter.
import { trace } from '@opentelemetry/api';
import { RecordingTracer } from '../kit/recording-tracer.ts';

trace.setGlobalTracerProvider(new RecordingTracer((span) => process.stderr.write(`span ${JSON.stringify(span)}\n`)));

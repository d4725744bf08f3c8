import { type DestinationStream, destination, type LevelWithSilent, pino } from 'pino';
import type { RequestEvent } from './request-event.ts';

/** Lines are gathered to this many bytes before they are written; must stay below sonic-boom's 16 KiB maxWrite. */
const BUFFER = 8192;
/** A line waits at most this long in the buffer, in milliseconds. */
const FLUSH_EVERY = 250;

/** The process's log: JSON lines. */
export interface Log {
  /** The one line of one request. */
  request(event: RequestEvent): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** Writes out what is buffered; call before the process exits. */
  flush(): void;
}

/** Logs to stdout, buffered and asynchronous. A stream given in its place (tests, embedding) gets each line at once. */
export function createLog(level: LevelWithSilent | string, stream?: DestinationStream): Log {
  const buffered = stream === undefined ? destination({ dest: 1, sync: false, minLength: BUFFER }) : undefined;
  const sink = stream ?? buffered;
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    sink as DestinationStream,
  );
  // Without a reader (a closed pipe) logging must not end the gateway.
  buffered?.on('error', () => undefined);
  const timer = buffered && setInterval(() => buffered.flush(), FLUSH_EVERY).unref();
  return {
    request(event) {
      const line = fieldsOf(event);
      if (event.status >= 500) logger.error(line, 'request');
      else logger.info(line, 'request');
    },
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    flush() {
      clearInterval(timer);
      try {
        buffered?.flushSync();
      } catch {
        // The destination was never opened or is gone: there is nobody left to tell.
      }
    },
  };
}

function fieldsOf(event: RequestEvent): object {
  return {
    requestId: event.requestId,
    traceId: event.trace.traceId === event.requestId ? undefined : event.trace.traceId,
    kind: event.kind,
    tenant: event.tenant,
    client: event.client,
    session: event.session?.slice(0, 8),
    role: event.role,
    method: event.method,
    path: event.path,
    route: event.route,
    status: event.status,
    code: event.code,
    reason: event.reason,
    endpoint: event.endpoint,
    attempts: event.attempts > 1 ? event.attempts : undefined,
    aborted: event.aborted || undefined,
    ms: round(performance.now() - event.startedMono),
    upstreamMs: event.upstreamMs === undefined ? undefined : round(event.upstreamMs),
    bytesIn: event.bytesIn,
    bytesOut: event.bytesOut,
  };
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}

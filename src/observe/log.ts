import { type DestinationStream, type LevelWithSilent, pino } from 'pino';
import { stdoutSink } from './line-sink.ts';
import type { RequestEvent } from './request-event.ts';
import { requestLine, timestamp } from './request-line.ts';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The process's log: JSON lines. */
export interface Log {
  /** The one line of one request. */
  request(event: RequestEvent): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** The level from which on lines are written. */
  level(): LogLevel;
  setLevel(level: LogLevel): void;
  /** Hands over what is buffered; a process that then ends by itself writes it out first. */
  flush(): void;
}

/**
 * Logs to stdout, buffered and asynchronous. A stream given in its place (tests, embedding) gets each line at once. The
 * number of a worker is put into every line.
 */
export function createLog(level: LevelWithSilent | string, stream?: DestinationStream, worker?: number): Log {
  const own = stream === undefined ? stdoutSink() : undefined;
  const sink: DestinationStream = own ?? (stream as DestinationStream);
  const origin = worker === undefined ? '' : `,"worker":${worker}`;
  const logger = pino(
    {
      level,
      base: worker === undefined ? null : { worker },
      timestamp: () => `,"time":"${timestamp(Date.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    sink,
  );
  return {
    request(event) {
      const level = event.status >= 500 ? 'error' : 'info';
      if (logger.isLevelEnabled(level)) sink.write(requestLine(event, level, origin));
    },
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    level: () => logger.level as LogLevel,
    setLevel(chosen) {
      logger.level = chosen;
    },
    flush: () => own?.close(),
  };
}

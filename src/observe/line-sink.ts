import { type DestinationStream, destination } from 'pino';

/** Lines are gathered up to this many before they are written. */
const BATCH = 128;
/** A line waits at most this long, in milliseconds. */
const FLUSH_EVERY = 250;

/** Where log lines go: gathered, and written in one piece. */
export interface LineSink extends DestinationStream {
  /** Hands over what waits and stops the clock. A process that ends by itself writes it out first. */
  close(): void;
}

/**
 * Writes lines to stdout, asynchronously. Handing each line to the destination by itself costs several times the price of
 * making it, so they are joined first.
 */
export function stdoutSink(): LineSink {
  const stdout = destination({ dest: 1, sync: false, minLength: 0 });
  // Without a reader (a closed pipe) logging must not end the gateway.
  stdout.on('error', () => undefined);
  let lines: string[] = [];
  const flush = () => {
    if (lines.length === 0) return;
    stdout.write(lines.join(''));
    lines = [];
  };
  const timer = setInterval(flush, FLUSH_EVERY).unref();
  return {
    write(line) {
      if (lines.push(line) >= BATCH) flush();
    },
    close() {
      clearInterval(timer);
      // The process ends by itself once this is written. To wait for it here would be to wait for ever without a reader.
      flush();
    },
  };
}

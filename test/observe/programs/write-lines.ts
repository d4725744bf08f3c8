import { stdoutSink } from '../../../src/observe/line-sink.ts';

/** Writes 300 lines to standard output and ends, once it is told to. */
process.once('message', () => {
  const sink = stdoutSink();
  for (let i = 0; i < 300; i++) sink.write(`line ${i}\n`);
  sink.close();
  process.disconnect?.();
});

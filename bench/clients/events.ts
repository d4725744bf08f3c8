import { get } from 'node:http';
import { latencyOf } from '../statistics.ts';
import { begin, finish, order } from './order.ts';

/** Every stream must have begun by then, or the round ends, in milliseconds. */
const CONNECT_LIMIT = 20_000;

/**
 * Event streams whose events say when they were sent, on the clock of this machine: `data: <microseconds> …`. Prints a
 * LoadResult that counts events that arrived whole. The round begins once all streams have.
 */
let startedAt = performance.now();
let streams = 0;
const latencies: number[] = [];
let units = 0;
let errors = 0;
let over = false;

function subscribe(): void {
  const { port, path, headers } = order;
  get({ port, host: '127.0.0.1', path, headers, agent: false }, (stream) => {
    if (stream.statusCode !== 200) errors++;
    let rest = '';
    let begun = false;
    stream.setEncoding('latin1').on('data', (text: string) => {
      const now = Number(process.hrtime.bigint() / 1000n);
      const events = (rest + text).split('\n\n');
      rest = events.pop() ?? '';
      for (const event of events) {
        if (!event.startsWith('data: ')) continue;
        units++;
        if (!begun) {
          begun = true;
          if (++streams === order.connections) beginNow();
        }
        latencies.push((now - Number.parseInt(event.slice('data: '.length), 10)) / 1000);
      }
    });
    stream.on('error', () => undefined).on('close', broken);
  }).on('error', broken);
}

function broken(): void {
  if (!over) errors++;
}

function beginNow(): void {
  begin();
  startedAt = performance.now();
  units = 0;
  latencies.length = 0;
  setTimeout(finishNow, order.seconds * 1000);
}

function finishNow(): void {
  over = true;
  const result = { units, errors, seconds: (performance.now() - startedAt) / 1000 };
  finish(latencies.length === 0 ? result : { ...result, latency: latencyOf(latencies) });
}

for (let count = 0; count < order.connections; count++) subscribe();
setTimeout(finishNow, CONNECT_LIMIT);

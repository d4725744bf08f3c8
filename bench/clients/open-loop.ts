import { setTimeout as delay } from 'node:timers/promises';
import { latencyOf } from '../statistics.ts';
import { Connection } from './connection.ts';
import { finish, order, request } from './order.ts';

/**
 * Requests at a fixed rate, whether or not earlier ones have been answered: a server that stalls is not waited for, and
 * each request that comes due meanwhile counts its time from then on. They come due in ticks of a millisecond, which is
 * as fine as a timer is that leaves the core to the upstream in between. Prints a LoadResult with latencies.
 */
const { rate = 1000, connections, seconds } = order;
/** Not counted: connections are opened and the compilers on both sides get going, in milliseconds. */
const LEAD_IN = 500;
/** What is still unanswered so long after the last request has failed, in milliseconds. */
const PATIENCE = 5000;

const startedAt = performance.now();
const endsAt = startedAt + LEAD_IN + seconds * 1000;
const idle: { connection: Connection; due: number }[] = [];
/** When requests came due that no connection was free for, oldest first. */
const waiting: number[] = [];
const latencies: number[] = [];
let errors = 0;
let answered = 0;
let asked = 0;

function open(): void {
  const line = {
    due: 0,
    connection: new Connection(order.port, {
      answered(status) {
        answered++;
        if (status >= 400) errors++;
        if (line.due >= startedAt + LEAD_IN) latencies.push(performance.now() - line.due);
        const due = waiting.shift();
        if (due === undefined) idle.push(line);
        else ask(line, due);
      },
      broken() {
        errors++;
        const at = idle.indexOf(line);
        if (at === -1) answered++;
        else idle.splice(at, 1);
        if (performance.now() < endsAt) setTimeout(open, 10);
      },
    }),
  };
  idle.push(line);
}

function ask(line: (typeof idle)[number], due: number): void {
  line.due = due;
  line.connection.sendTogether(request);
}

for (let count = 0; count < connections; count++) open();
for (let now = performance.now(); now < endsAt; now = performance.now()) {
  for (const due = Math.floor(((now - startedAt) * rate) / 1000); asked < due; asked++) {
    const line = idle.pop();
    if (line === undefined) waiting.push(now);
    else ask(line, now);
  }
  await delay(1);
}
const deadline = performance.now() + PATIENCE;
while (answered < asked && performance.now() < deadline) await delay(10);
errors += asked - answered;
const result = { units: answered, errors, seconds: (performance.now() - startedAt) / 1000 };
finish(latencies.length === 0 ? result : { ...result, latency: latencyOf(latencies) });

import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from './connection.ts';
import { finish, order, request } from './order.ts';

/** Opened, and asked on, so many at a time: a burst would measure the length of the accept queue. */
const AT_ONCE = 50;

const startedAt = performance.now();
let errors = 0;

/** A connection that is opened with its first request. */
function line(): () => Promise<void> {
  let connection: Connection | undefined;
  let broken = false;
  let settle = () => {};
  const open = () =>
    new Connection(order.port, {
      answered(status) {
        if (status >= 400) errors++;
        settle();
      },
      broken() {
        errors++;
        broken = true;
        settle();
      },
    });
  return () =>
    new Promise((resolve) => {
      settle = resolve;
      connection ??= open();
      if (broken) resolve();
      else connection.sendTogether(request);
    });
}

/**
 * Opens connections, asks once on each, leaves them all alone for a while, and asks once more on each: one that was closed
 * meanwhile is an error. Prints a LoadResult that counts connections.
 */
const lines = Array.from({ length: order.connections }, line);
async function askOnEach(): Promise<void> {
  for (let at = 0; at < lines.length; at += AT_ONCE) {
    await Promise.all(lines.slice(at, at + AT_ONCE).map((ask) => ask()));
  }
}

await askOnEach();
await delay(order.seconds * 1000);
await askOnEach();
finish({ units: lines.length, errors, seconds: (performance.now() - startedAt) / 1000 });

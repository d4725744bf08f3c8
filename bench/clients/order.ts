import { readFileSync } from 'node:fs';
import { BEGUN, type Order } from '../clients.ts';
import type { LoadResult } from '../load.ts';

export const order = JSON.parse(process.argv[2] ?? '') as Order;

const body = order.bodyFile === null ? undefined : readFileSync(order.bodyFile);

/** The request, ready to be sent. */
export const request: readonly Buffer[] = [headOf(), ...(body === undefined ? [] : [body])];

/** Says that from now on it counts. */
export function begin(): void {
  process.stdout.write(BEGUN);
}

/** Reports what the round came to and ends the program, whatever connections are still open. */
export function finish(result: LoadResult): never {
  process.stdout.write(`${JSON.stringify(result)}\n`);
  process.exit(0);
}

function headOf(): Buffer {
  const length = body === undefined ? {} : { 'Content-Length': body.length };
  const fields = Object.entries({ Host: `127.0.0.1:${order.port}`, ...order.headers, ...length });
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${order.method} ${order.path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
}

import { Connection } from './connection.ts';
import { finish, order, request } from './order.ts';

/** Sends one body of the announced Content-Length over each of many connections at once. Prints a LoadResult. */
const length = Number(order.headers['Content-Length']);
const piece = Buffer.alloc(1 << 18, 'x');
const startedAt = performance.now();
let errors = 0;

async function upload(): Promise<void> {
  let over = false;
  const settled = new Promise<void>((resolve) => {
    const settle = () => {
      over = true;
      resolve();
    };
    const connection = new Connection(order.port, {
      answered(status) {
        if (status >= 400 || over) errors++;
        settle();
      },
      broken() {
        errors++;
        settle();
      },
    });
    sendBody(connection, () => over);
  });
  await settled;
}

async function sendBody(connection: Connection, isOver: () => boolean): Promise<void> {
  connection.sendTogether(request);
  for (let left = length; left > 0 && !isOver(); left -= piece.length) {
    if (!connection.send(left < piece.length ? piece.subarray(0, left) : piece)) await connection.whenDrained();
  }
}

await Promise.all(Array.from({ length: order.connections }, upload));
finish({ units: order.connections, errors, seconds: (performance.now() - startedAt) / 1000 });

import { Connection } from './connection.ts';
import { finish, order, request } from './order.ts';

/** Connections that each ask again as soon as they are answered. Prints a LoadResult. */
const startedAt = performance.now();
const endsAt = startedAt + order.seconds * 1000;
let units = 0;
let errors = 0;

/** Resolves when its time is over, with whatever is under way then answered. */
function askAgainAndAgain(): Promise<void> {
  return new Promise((resolve) => {
    const open = () => {
      const connection = new Connection(order.port, {
        answered(status) {
          units++;
          if (status >= 400) errors++;
          if (performance.now() < endsAt) return connection.sendTogether(request);
          connection.close();
          resolve();
        },
        broken() {
          errors++;
          if (performance.now() < endsAt) setTimeout(open, 10);
          else resolve();
        },
      });
      connection.sendTogether(request);
    };
    open();
  });
}

await Promise.all(Array.from({ length: order.connections }, askAgainAndAgain));
finish({ units, errors, seconds: (performance.now() - startedAt) / 1000 });

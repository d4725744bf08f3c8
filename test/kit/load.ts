import { Agent, request } from 'node:http';

export interface LoadResult {
  /** Requests answered as they should be. */
  readonly answered: number;
  /** What went wrong with the others. */
  readonly failures: readonly string[];
}

export interface LoadTarget {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
}

/**
 * Clients that ask one after the other, until they are stopped: `fresh` of them on a new connection for each request, `kept`
 * of them on connections they keep for as long as the server lets them. None tries a request twice.
 */
export function startLoad(target: LoadTarget, clients: { readonly fresh: number; readonly kept: number }) {
  let isOver = false;
  let answered = 0;
  const failures: string[] = [];
  const agent = new Agent({ keepAlive: true });

  async function ask(kind: string, through: Agent | false): Promise<void> {
    while (!isOver) {
      try {
        const status = await statusOf(target, through);
        if (status === target.status) answered++;
        else failures.push(`${kind}: status ${status}`);
      } catch (error) {
        failures.push(`${kind}: ${(error as NodeJS.ErrnoException).code ?? error}`);
      }
    }
  }

  const running = Promise.all([
    ...Array.from({ length: clients.fresh }, () => ask('new connection', false)),
    ...Array.from({ length: clients.kept }, () => ask('kept connection', agent)),
  ]);
  return {
    get answered() {
      return answered;
    },
    async stop(): Promise<LoadResult> {
      isOver = true;
      await running;
      agent.destroy();
      return { answered, failures };
    },
  };
}

/** The status of one request on a connection of its own. */
export function statusOf({ port, path, headers }: Omit<LoadTarget, 'status'>, agent: Agent | false = false) {
  return new Promise<number>((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, headers, agent }, (response) => {
      response.once('error', reject);
      response.once('end', () => resolve(response.statusCode ?? 0));
      response.resume();
    });
    asked.once('error', reject);
    asked.end();
  });
}

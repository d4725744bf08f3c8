import type { Children } from '../children.ts';
import { CONNECTIONS, type Load, type LoadResult, type Target } from '../load.ts';
import { programPath } from '../servers/path.ts';

/** Time a run may take beyond its length before it is killed, in milliseconds. */
const MARGIN = 10_000;

/** A load generator in a Node process of its own. It is slower than any proxy it drives: CPU figures hold, rates do not. */
export class BuiltInLoad implements Load {
  readonly kind = 'built-in';
  readonly #children: Children;

  constructor(children: Children) {
    this.#children = children;
  }

  async run({ port, workload, cookie }: Target, seconds: number): Promise<LoadResult> {
    const { method, path, body } = workload;
    const order: LoadOrder = {
      origin: `http://127.0.0.1:${port}`,
      request: { method, path, headers: { ...workload.headers, Cookie: cookie }, body: body ?? null },
      connections: CONNECTIONS,
      seconds,
    };
    const command = [process.execPath, programPath('load.ts'), JSON.stringify(order)];
    const times = { limit: seconds * 1000 + MARGIN };
    return JSON.parse(await this.#children.run({ place: 'rest', command }, times)) as LoadResult;
  }
}

/** The argument of the generator's process. */
export interface LoadOrder {
  readonly origin: string;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | null;
  };
  readonly connections: number;
  readonly seconds: number;
}

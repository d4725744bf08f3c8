import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Children } from '../children.ts';
import { CONNECTIONS, type Load, type LoadResult, type Target } from '../load.ts';

const SCRIPT = fileURLToPath(new URL('wrk.lua', import.meta.url));
/** wrk takes whole seconds only, so it is told more than enough and interrupted: it then reports as at its own end. */
const MARGIN = 10;

export class WrkLoad implements Load {
  readonly kind = 'wrk';
  readonly #children: Children;
  readonly #program: string;
  readonly #folder: string;

  /** `folder` takes the request bodies. */
  constructor(children: Children, program: string, folder: string) {
    this.#children = children;
    this.#program = program;
    this.#folder = folder;
  }

  async run(target: Target, seconds: number): Promise<LoadResult> {
    const { port, workload, cookie } = target;
    const headers = Object.entries({ ...workload.headers, Cookie: cookie });
    const command = [
      this.#program,
      ...['--threads', '1', '--connections', `${CONNECTIONS}`, '--duration', `${Math.ceil(seconds) + MARGIN}`],
      ...headers.flatMap(([name, value]) => ['--header', `${name}: ${value}`]),
      ...['--script', SCRIPT, `http://127.0.0.1:${port}${workload.path}`],
      ...['--', workload.method, ...this.#bodyFile(workload.name, workload.body)],
    ];
    const times = { interruptAfter: seconds * 1000, limit: (seconds + MARGIN) * 1000 };
    const output = await this.#children.run({ place: 'rest', command }, times);
    const report = output.trimEnd().split('\n').at(-1) ?? '';
    return JSON.parse(report) as LoadResult;
  }

  #bodyFile(name: string, body: string | undefined): string[] {
    if (body === undefined) return [];
    mkdirSync(this.#folder, { recursive: true });
    const file = join(this.#folder, name);
    writeFileSync(file, body);
    return [file];
  }
}

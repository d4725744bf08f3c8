import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Children, InterruptedEarly } from '../children.ts';
import type { Load, LoadResult, Target } from '../load.ts';
import type { RequestShape } from '../workload.ts';

const SCRIPT = fileURLToPath(new URL('wrk.lua', import.meta.url));
/** wrk takes whole seconds only, so it is told more than enough and interrupted: it then reports as at its own end. */
const MARGIN = 10;
const ATTEMPTS = 5;

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

  async run(
    { port, cookie }: Target,
    request: RequestShape,
    { connections, seconds }: { connections: number; seconds: number },
  ): Promise<LoadResult> {
    const headers = Object.entries({ ...request.headers, Cookie: cookie });
    const command = [
      this.#program,
      ...['--threads', '1', '--connections', `${connections}`, '--duration', `${Math.ceil(seconds) + MARGIN}`],
      ...headers.flatMap(([name, value]) => ['--header', `${name}: ${value}`]),
      ...['--script', SCRIPT, `http://127.0.0.1:${port}${request.path}`],
      ...['--', request.method, ...this.#bodyFile(request.body)],
    ];
    const times = { interruptAfter: seconds * 1000, limit: (seconds + MARGIN) * 1000 };
    const output = await this.#runToItsReport(command, times);
    const report = output.trimEnd().split('\n').at(-1) ?? '';
    return JSON.parse(report) as LoadResult;
  }

  /** On a busy machine wrk may not be up when its time is over. */
  async #runToItsReport(command: readonly string[], times: { interruptAfter: number; limit: number }): Promise<string> {
    for (let left = ATTEMPTS; ; left--) {
      try {
        return await this.#children.run({ place: 'rest', command }, times);
      } catch (error) {
        if (left === 1 || !(error instanceof InterruptedEarly)) throw error;
      }
    }
  }

  #bodyFile(body: string | undefined): string[] {
    if (body === undefined) return [];
    mkdirSync(this.#folder, { recursive: true });
    const file = join(this.#folder, 'body');
    writeFileSync(file, body);
    return [file];
  }
}

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Children } from './children.ts';
import type { LoadResult, Target } from './load.ts';
import type { RequestShape } from './workload.ts';

/** Time a client may take beyond the length of its round before it is killed, in milliseconds. */
const MARGIN = 60_000;

/** What a client says when its round begins, if that is not at once. */
export const BEGUN = 'begun\n';

/** The argument of a client program, as JSON. */
export interface Order {
  readonly port: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** File that holds the request's body; null for none. */
  readonly bodyFile: string | null;
  readonly connections: number;
  readonly seconds: number;
  /** Requests per second, where the program asks at a fixed rate. */
  readonly rate?: number;
}

/** Programs in bench/clients, each run as a process beside the upstream that prints a LoadResult. */
export class Clients {
  readonly #children: Children;
  readonly #folder: string;
  /** Body → the file that holds it. */
  readonly #bodies = new Map<string, string>();

  /** `folder` takes the request bodies. */
  constructor(children: Children, folder: string) {
    this.#children = children;
    this.#folder = folder;
  }

  /** `begin` is called when the client says so. */
  async run(
    program: string,
    target: Target,
    request: RequestShape,
    how: { readonly connections: number; readonly seconds: number; readonly rate?: number },
    begin: () => void = () => undefined,
  ): Promise<LoadResult> {
    const order: Order = {
      port: target.port,
      method: request.method,
      path: request.path,
      headers: { ...request.headers, Cookie: target.cookie },
      bodyFile: this.#bodyFile(request.body),
      ...how,
    };
    const file = fileURLToPath(new URL(`clients/${program}`, import.meta.url));
    const command = [process.execPath, file, JSON.stringify(order)];
    const output = await this.#children.run(
      { place: 'rest', command },
      { limit: how.seconds * 1000 + MARGIN },
      (text) => {
        if (text.startsWith(BEGUN)) begin();
      },
    );
    return JSON.parse(output.replace(BEGUN, '')) as LoadResult;
  }

  #bodyFile(body: string | undefined): string | null {
    if (body === undefined) return null;
    const known = this.#bodies.get(body);
    if (known !== undefined) return known;
    mkdirSync(this.#folder, { recursive: true });
    const file = join(this.#folder, `body-${this.#bodies.size}`);
    writeFileSync(file, body);
    this.#bodies.set(body, file);
    return file;
  }
}

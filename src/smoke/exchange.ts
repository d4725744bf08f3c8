import { Mismatch, NotApplicable } from './check.ts';
import { shown } from './redact.ts';
import { type Reply, valuesOf } from './wire.ts';

/** One request and its answer, with the means to say what is wrong with it. */
export class Exchange {
  readonly sent: Buffer;
  readonly reply: Reply;
  readonly #secrets: readonly string[];

  constructor(sent: Buffer, reply: Reply, secrets: readonly string[]) {
    this.sent = sent;
    this.reply = reply;
    this.#secrets = secrets;
  }

  get status(): number {
    return this.reply.status;
  }

  get text(): string {
    return this.reply.body.toString('utf8');
  }

  /** The body as JSON; undefined when it is none. */
  get json(): unknown {
    try {
      return JSON.parse(this.text);
    } catch {
      return undefined;
    }
  }

  /** The last segment of the problem's `type`, whatever the Content-Type; undefined when the body is no problem. */
  get code(): string | undefined {
    const type = member(this.json, 'type');
    return typeof type === 'string' ? type.slice(type.lastIndexOf('/') + 1) : undefined;
  }

  /** Whether the gateway itself refused because of how it is configured: only its own problems have an instance. */
  isOwnRefusal(...codes: readonly string[]): boolean {
    return this.code !== undefined && codes.includes(this.code) && member(this.json, 'instance') !== undefined;
  }

  /** The values of a header, joined by `, `; undefined without one. */
  header(name: string): string | undefined {
    const values = this.headers(name);
    return values.length === 0 ? undefined : values.join(', ');
  }

  headers(name: string): string[] {
    return valuesOf(this.reply, name);
  }

  /** Throws the Mismatch that shows this exchange, unless `holds`. `expected` reads on from "expected". */
  must(holds: boolean, expected: string, received?: string): void {
    if (!holds) throw this.mismatch(expected, received);
  }

  mismatch(expected: string, received?: string): Mismatch {
    const answer = Buffer.concat([this.reply.raw, this.reply.body]);
    return new Mismatch({
      sent: shown(this.sent, this.#secrets),
      received: shown(received ?? answer, this.#secrets),
      expected,
    });
  }

  /**
   * Must be the gateway's refusal. `orInFront`: a proxy in front may have refused in its place with an answer of its own;
   * that keeps the request out as well, but nothing can be said of the gateway.
   */
  mustRefuse(status: number, code: string, orInFront = false): void {
    if (orInFront && this.code === undefined && this.status >= 400) {
      throw new NotApplicable(`a proxy in front refused it with ${this.status}`);
    }
    this.must(this.status === status && this.code === code, `${status} and a problem of type …/${code}`);
  }
}

/** A member of a JSON object; undefined where there is none. */
export function member(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const name of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, name)) return undefined;
    current = (current as Record<string, unknown>)[name];
  }
  return current;
}

import { asProblem, Problem, type ProblemCode } from '../problem.ts';

/** What one end of a channel can be asked for: the name of each call and its function of one argument. */
export type Calls = Readonly<Record<string, (argument: never) => unknown>>;

/** The end of node's own channel between two processes: `process` in the child, the ChildProcess in the parent. */
export interface ChannelEnd {
  readonly connected: boolean;
  send?(message: object, callback: (error: Error | null) => void): boolean;
  on(event: 'message', listener: (message: unknown) => void): unknown;
  on(event: 'disconnect', listener: () => void): unknown;
}

/** The other process did not answer: it has ended, or it hangs. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered';
}

type Frame =
  | { readonly name: string; readonly argument: unknown; readonly id?: number }
  | { readonly reply: number; readonly value: unknown }
  | { readonly reply: number; readonly problem: PlainProblem };

interface PlainProblem {
  readonly code: ProblemCode;
  readonly detail: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

type ArgumentOf<C extends Calls, N extends keyof C> = Parameters<C[N]>[0];

/** How long an answer is waited for unless the caller says otherwise, in milliseconds. */
const PATIENCE = 15_000;

/**
 * Calls between two processes. Messages arrive in the order they were sent, and a handler begins with each as it arrives.
 * What a handler throws reaches the caller as the same Problem, or as `internal`.
 */
export class Channel<Theirs extends Calls, Ours extends Calls> {
  readonly #end: ChannelEnd;
  readonly #handlers: Ours;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  constructor(end: ChannelEnd, handlers: Ours) {
    this.#end = end;
    this.#handlers = handlers;
    end.on('message', (message) => this.#receive(message as Frame));
    end.on('disconnect', () => this.#abandon());
  }

  /** Sends without waiting for anything. To a process that has ended it does nothing. */
  tell<N extends keyof Theirs & string>(name: N, argument: ArgumentOf<Theirs, N>): void {
    this.#send({ name, argument });
  }

  /** Rejects with `Unanswered` when the other end is gone or has not answered within `patience` milliseconds. */
  call<N extends keyof Theirs & string>(
    name: N,
    argument: ArgumentOf<Theirs, N>,
    patience = PATIENCE,
  ): Promise<Awaited<ReturnType<Theirs[N]>>> {
    if (!this.#end.connected) return Promise.reject(new Unanswered(`${name}: the channel is closed`));
    const id = ++this.#lastId;
    const answer = new Promise<unknown>((resolve, reject) => {
      const giveUp = () => {
        this.#waiting.delete(id);
        reject(new Unanswered(`${name}: no answer within ${patience} ms`));
      };
      this.#waiting.set(id, { resolve, reject, timer: setTimeout(giveUp, patience).unref() });
    });
    this.#send({ name, argument, id });
    return answer as Promise<Awaited<ReturnType<Theirs[N]>>>;
  }

  #receive(frame: Frame): void {
    if ('reply' in frame) {
      this.#settle(frame);
      return;
    }
    const { name, argument, id } = frame;
    const work = this.#run(name, argument);
    if (id === undefined) return;
    work.then(
      (value) => this.#send({ reply: id, value }),
      (thrown) => {
        const { code, detail, headers } = asProblem(thrown);
        this.#send({ reply: id, problem: { code, detail, headers } });
      },
    );
  }

  async #run(name: string, argument: unknown): Promise<unknown> {
    const handler = this.#handlers[name] as ((argument: unknown) => unknown) | undefined;
    if (handler === undefined) throw new RangeError(`no such call: ${name}`);
    return handler(argument);
  }

  #settle(frame: Extract<Frame, { reply: number }>): void {
    const waiting = this.#waiting.get(frame.reply);
    if (waiting === undefined) return;
    this.#waiting.delete(frame.reply);
    clearTimeout(waiting.timer);
    if (!('problem' in frame)) {
      waiting.resolve(frame.value);
      return;
    }
    const { code, detail, headers } = frame.problem;
    waiting.reject(new Problem(code, detail, { headers }));
  }

  #send(frame: Frame): void {
    if (!this.#end.connected) return;
    // A process that ends meanwhile is told of by `disconnect`.
    this.#end.send?.(frame, () => undefined);
  }

  #abandon(): void {
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(new Unanswered('the channel was closed'));
    }
    this.#waiting.clear();
  }
}

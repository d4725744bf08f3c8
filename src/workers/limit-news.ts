import type { LimitExchange, LimitNews } from '../edge/limits.ts';

/** The exchange of one worker: what it counts in one turn of the event loop is sent together. */
export class RemoteLimits implements LimitExchange {
  readonly parties: number;
  readonly #send: (news: readonly LimitNews[]) => void;
  #hear: ((news: readonly LimitNews[]) => void) | undefined;
  #untold: LimitNews[] = [];

  constructor(parties: number, send: (news: readonly LimitNews[]) => void) {
    this.parties = parties;
    this.#send = send;
  }

  tell(news: LimitNews): void {
    if (this.#untold.push(news) > 1) return;
    setImmediate(() => {
      this.#send(this.#untold);
      this.#untold = [];
    });
  }

  connect(hear: (news: readonly LimitNews[]) => void): void {
    this.#hear = hear;
  }

  /** What other workers have counted. */
  hear(news: readonly LimitNews[]): void {
    this.#hear?.(news);
  }
}

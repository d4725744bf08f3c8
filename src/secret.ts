import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/**
 * A value that must never be printed. Every way of turning it into text (template, JSON, console, error, log serializer)
 * yields `[redacted]`; only `reveal()` gives the text itself, so the places that handle a secret can be found by name.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}

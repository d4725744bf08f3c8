/** A mention, its separators squeezed, spans at most so many characters before its last one. */
const LONGEST = 16;
/** Text this long is not joined with what came before, only its beginning is. */
const LONG = 512;

/** What to look for, one character per byte, and which characters may repeat within it as one. */
export interface SearchTerms {
  readonly isSuspect: (text: string) => boolean;
  readonly separators: RegExp;
}

/**
 * Searches a body as it arrives, in pieces cut anywhere, for what a whole body is searched for. What it does not find is
 * not there; what it finds has to be judged with all of the body at hand.
 */
export class OwnerKeySearch {
  readonly #terms: SearchTerms;
  #found = false;
  /** The end of what has been searched, where something may have begun. */
  #tail = '';

  constructor(terms: SearchTerms) {
    this.#terms = terms;
  }

  get found(): boolean {
    return this.#found;
  }

  update(piece: Buffer): void {
    if (this.#found) return;
    const { isSuspect } = this.#terms;
    const text = piece.toString('latin1');
    if (text.length < LONG) {
      const joined = this.#tail + text;
      this.#found = isSuspect(joined);
      this.#tail = this.#squeeze(joined).slice(-LONGEST);
    } else {
      this.#found = isSuspect(text) || isSuspect(this.#tail + this.#startOf(text));
      // What is nothing but separators may stand in the middle of a mention.
      this.#tail = this.#squeeze(this.#tail + this.#endOf(text)).slice(-LONGEST);
    }
  }

  #startOf(text: string): string {
    const start = this.#squeeze(text.slice(0, LONG / 2));
    return start.length < LONGEST ? this.#squeeze(text) : start;
  }

  #endOf(text: string): string {
    const end = this.#squeeze(text.slice(-LONG / 2));
    return end.length < LONGEST ? this.#squeeze(text) : end;
  }

  #squeeze(text: string): string {
    return text.replace(this.#terms.separators, '_');
  }
}

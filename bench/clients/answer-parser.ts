const HEAD_END = '\r\n\r\n';

/**
 * Finds where one answer ends, and nothing more: as a client that costs less than what it measures must. An answer has a
 * length or is chunked (RFC 9112 §6.3); one that ends with its connection is an error, for no connection would be kept.
 */
export class AnswerParser {
  #stage: 'head' | 'length' | 'size' | 'data' | 'trailer' = 'head';
  /** Bytes of a line or head whose end has not come yet. */
  #pending: Buffer | undefined;
  #left = 0;
  #status = 0;

  /** The status of the answer that ends with these bytes, 0 while there is more to come. Throws for what is no answer. */
  feed(bytes: Buffer): number {
    let rest = bytes;
    for (;;) {
      const next = this.#step(rest);
      if (next === undefined) return 0;
      rest = next;
      if (this.#stage !== 'head' || this.#status === 0) continue;
      if (rest.length > 0) throw new Error('bytes behind the answer');
      const status = this.#status;
      this.#status = 0;
      return status;
    }
  }

  /** Takes one element off `bytes` and gives what is behind it; undefined when that element goes on. */
  #step(bytes: Buffer): Buffer | undefined {
    switch (this.#stage) {
      case 'head':
        return this.#head(bytes);
      case 'length':
        return this.#skip(bytes, 'head');
      case 'data':
        return this.#skip(bytes, 'size');
      case 'size':
        return this.#line(bytes, (line) => {
          const size = Number.parseInt(line, 16);
          if (!/^[0-9a-f]/i.test(line)) throw new Error(`"${line}" is no chunk size`);
          this.#stage = size === 0 ? 'trailer' : 'data';
          this.#left = size + '\r\n'.length;
        });
      case 'trailer':
        return this.#line(bytes, (line) => {
          if (line === '') this.#stage = 'head';
        });
    }
  }

  #head(bytes: Buffer): Buffer | undefined {
    return this.#upTo(HEAD_END, bytes, (head) => {
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
      if (Number.isNaN(status)) throw new Error('no status line');
      // An interim answer: the real one follows.
      if (status < 200) return;
      this.#status = status;
      this.#left = Number(/\r\ncontent-length:\s*(\d+)/i.exec(head)?.[1]);
      if (status === 204 || status === 304) this.#left = 0;
      if (!Number.isNaN(this.#left)) this.#stage = this.#left === 0 ? 'head' : 'length';
      else if (/\r\ntransfer-encoding:\s*chunked/i.test(head)) this.#stage = 'size';
      else throw new Error('neither a length nor chunked');
    });
  }

  #skip(bytes: Buffer, then: 'head' | 'size'): Buffer | undefined {
    if (bytes.length < this.#left) {
      this.#left -= bytes.length;
      return undefined;
    }
    this.#stage = then;
    return bytes.subarray(this.#left);
  }

  #line(bytes: Buffer, take: (line: string) => void): Buffer | undefined {
    return this.#upTo('\r\n', bytes, take);
  }

  #upTo(mark: string, bytes: Buffer, take: (text: string) => void): Buffer | undefined {
    const all = this.#pending === undefined ? bytes : Buffer.concat([this.#pending, bytes]);
    const end = all.indexOf(mark, 0, 'latin1');
    if (end === -1) {
      this.#pending = all;
      return undefined;
    }
    this.#pending = undefined;
    take(all.toString('latin1', 0, end));
    return all.subarray(end + mark.length);
  }
}

/** A request or response in the middle of being spoiled: its header lines as text, its body as bytes. */
export class Message {
  readonly #lines: string[];
  body: Buffer;

  constructor(head: string, body: Buffer) {
    this.#lines = head.split('\r\n');
    this.body = body;
  }

  /** Request line or status line. */
  get start(): string {
    return this.#lines[0] ?? '';
  }

  set start(text: string) {
    this.#lines[0] = text;
  }

  get method(): string {
    return this.start.split(' ')[0] ?? '';
  }

  get target(): string {
    return this.start.split(' ')[1] ?? '';
  }

  set target(text: string) {
    this.start = this.start.replace(/ .* /, () => ` ${text} `);
  }

  get status(): number {
    return Number(this.start.split(' ')[1]);
  }

  values(name: string): string[] {
    return this.#lines.slice(1).flatMap((line) => (nameOf(line) === name.toLowerCase() ? [textOf(line)] : []));
  }

  value(name: string): string | undefined {
    return this.values(name)[0];
  }

  drop(name: string): void {
    this.edit(name, () => undefined);
  }

  add(name: string, value: string): void {
    this.#lines.push(`${name}: ${value}`);
  }

  set(name: string, value: string): void {
    this.drop(name);
    this.add(name, value);
  }

  /** Rewrites each value of a header; undefined takes the line away. */
  edit(name: string, change: (value: string) => string | undefined): void {
    for (let i = this.#lines.length - 1; i > 0; i--) {
      const line = this.#lines[i] ?? '';
      if (nameOf(line) !== name.toLowerCase()) continue;
      const value = change(textOf(line));
      if (value === undefined) this.#lines.splice(i, 1);
      else this.#lines[i] = `${line.slice(0, line.indexOf(':'))}: ${value}`;
    }
  }

  setBody(body: string | Buffer): void {
    this.body = Buffer.from(body);
    this.edit('content-length', () => String(this.body.length));
  }

  get bytes(): Buffer {
    return Buffer.concat([Buffer.from(`${this.#lines.join('\r\n')}\r\n\r\n`, 'latin1'), this.body]);
  }
}

function nameOf(line: string): string {
  return line.slice(0, Math.max(0, line.indexOf(':'))).toLowerCase();
}

function textOf(line: string): string {
  return line.slice(line.indexOf(':') + 1).trim();
}

import type { ByteSource } from './byte-source.ts';

/** Bytes that RFC 9112 does not allow, or that this upstream never wants to see from a gateway. */
export class Violation extends Error {
  readonly rule: string;

  constructor(rule: string, detail: string) {
    super(`${rule}: ${detail}`);
    this.rule = rule;
  }
}

export interface RequestHead {
  /** Request line and headers as received, latin1, with the blank line. */
  readonly text: string;
  readonly method: string;
  readonly target: string;
  /** Name and value as received; the value still has its surrounding whitespace. */
  readonly rawHeaders: readonly (readonly [string, string])[];
  readonly body:
    | { readonly kind: 'none' }
    | { readonly kind: 'sized'; readonly length: number }
    | { readonly kind: 'chunked' };
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const TARGET = /^\/[!"$-~]*$/;
/** Field values: visible ASCII, space, tab, and obs-text. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Parses a request head strictly: one reading of the bytes, or a Violation. `bytes` ends with the blank line. */
export function parseHead(bytes: Buffer): RequestHead {
  const text = bytes.toString('latin1');
  const lines = text.slice(0, -4).split('\r\n');
  for (const line of lines) if (/[\r\n\0]/.test(line)) throw new Violation('bare-control', JSON.stringify(line));
  const [requestLine = '', ...fields] = lines;
  const [method = '', target = '', version, ...more] = requestLine.split(' ');
  if (!TOKEN.test(method) || version !== 'HTTP/1.1' || more.length > 0)
    throw new Violation('request-line', requestLine);
  if (!TARGET.test(target)) throw new Violation('target', target);
  const rawHeaders = fields.map(parseField);
  const values = (name: string) => headerValues(rawHeaders, name);
  if (values('host').length !== 1 || values('host')[0] === '')
    throw new Violation('host', JSON.stringify(values('host')));
  return { text, method, target, rawHeaders, body: framing(values('content-length'), values('transfer-encoding')) };
}

/** All values of a header, trimmed. */
export function headerValues(rawHeaders: RequestHead['rawHeaders'], name: string): string[] {
  return rawHeaders.filter(([field]) => field.toLowerCase() === name.toLowerCase()).map(([, value]) => value.trim());
}

/** The body, or undefined when the connection ended before it was whole. */
export async function readBody(source: ByteSource, head: RequestHead): Promise<Buffer | undefined> {
  if (head.body.kind === 'none') return Buffer.alloc(0);
  return head.body.kind === 'sized' ? source.exactly(head.body.length) : readChunks(source);
}

function parseField(line: string): readonly [string, string] {
  if (/^[ \t]/.test(line)) throw new Violation('obs-fold', line);
  const colon = line.indexOf(':');
  const name = line.slice(0, Math.max(colon, 0));
  const value = line.slice(colon + 1);
  if (!TOKEN.test(name) || !VALUE.test(value)) throw new Violation('header', JSON.stringify(line));
  return [name, value];
}

function framing(lengths: string[], encodings: string[]): RequestHead['body'] {
  const [length] = lengths;
  const [encoding] = encodings;
  if (lengths.length + encodings.length > 1) throw new Violation('framing', [...lengths, ...encodings].join(' and '));
  if (encoding !== undefined) {
    if (encoding !== 'chunked') throw new Violation('transfer-encoding', encoding);
    return { kind: 'chunked' };
  }
  if (length === undefined) return { kind: 'none' };
  if (!/^(?:0|[1-9]\d{0,15})$/.test(length)) throw new Violation('content-length', length);
  return { kind: 'sized', length: Number(length) };
}

async function readChunks(source: ByteSource): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  for (;;) {
    const line = (await source.until('\r\n', 1024))?.toString('latin1').slice(0, -2);
    if (line === undefined) return undefined;
    if (!/^[0-9a-f]{1,8}$/i.test(line)) throw new Violation('chunk-size', JSON.stringify(line));
    const size = Number.parseInt(line, 16);
    const data = await source.exactly(size + 2);
    if (data === undefined) return undefined;
    if (data.toString('latin1', size) !== '\r\n') throw new Violation(size === 0 ? 'trailer' : 'chunk-end', 'no CRLF');
    if (size === 0) return Buffer.concat(chunks);
    chunks.push(data.subarray(0, size));
  }
}

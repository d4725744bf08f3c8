import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { Http2ServerRequest } from 'node:http2';
import type { ReadableOptions } from 'node:stream';
import { Problem } from '../../problem.ts';

/**
 * A request over HTTP/2 in the form the stages know from HTTP/1.1: no pseudo-headers among `rawHeaders`, `:authority` as
 * the Host, the pieces of a split cookie joined (RFC 9113 §8.2.3) before anybody looks for a cookie that came twice.
 */
export class Http2Request extends Http2ServerRequest {
  readonly #rawHeaders: string[];
  /** Characters of all names and values, pseudo-headers among them. */
  readonly #headerSize: number;
  /** The client's END_STREAM has been seen, so the body is as long as it was meant to be. */
  #whole: boolean;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    options: ReadableOptions,
    rawHeaders: readonly string[],
  ) {
    super(stream, headers, options, rawHeaders);
    const authority = headers[':authority'];
    // A Host that is not the authority stays beside it, and two Hosts are refused.
    const fields = authority === undefined ? [] : ['host', authority];
    const cookies: string[] = [];
    let size = 0;
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      const name = rawHeaders[i] as string;
      const value = rawHeaders[i + 1] as string;
      size += name.length + value.length;
      if (name === 'cookie') cookies.push(value);
      else if (name.charCodeAt(0) !== COLON && (name !== 'host' || value !== authority)) fields.push(name, value);
    }
    if (cookies.length > 0) fields.push('cookie', cookies.join('; '));
    this.#rawHeaders = fields;
    this.#headerSize = size;
    this.#whole = stream.endAfterHeaders;
    // Without a listener an error would end the process; what it means is said by the close that comes with it.
    this.on('error', () => undefined);
    stream.once('close', () => this.destroy());
  }

  // @ts-expect-error -- declared as a property, and an accessor in truth
  override get rawHeaders(): string[] {
    return this.#rawHeaders;
  }

  /** As node:http means it: the whole body has arrived. */
  // @ts-expect-error -- declared as a property, and an accessor in truth
  override get complete(): boolean {
    return this.#whole;
  }

  /**
   * The end of a stream that was reset comes here too, looking like the end of the body: half a body that passes for
   * a whole one. Only the first end of a stream that is still open is the client's.
   */
  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    if (chunk !== null) return super.push(chunk, encoding);
    const { stream } = this;
    if (!this.#whole && (stream.closed || stream.destroyed || stream.aborted)) return false;
    this.#whole = true;
    return super.push(null);
  }

  /** Gives the body so many milliseconds to arrive; 0 for ever. Whoever is reading it then gets `request-timeout`. */
  expectWithin(timeout: number): void {
    if (this.#whole || timeout === 0) return;
    const timer = setTimeout(() => {
      if (!this.#whole) this.destroy(new Problem('request-timeout', 'The request did not arrive in time.'));
    }, timeout);
    this.stream.once('close', () => clearTimeout(timer)).once('end', () => clearTimeout(timer));
  }

  /** Throws `malformed-request` or `headers-too-large` for what the framing of HTTP/2 lets pass (RFC 9113 §8.3.1). */
  requireSound(maxHeaderSize: number): void {
    if (this.#headerSize > maxHeaderSize) {
      throw new Problem('headers-too-large', 'The request line and headers are too large.');
    }
    if (this.scheme !== undefined && this.scheme !== 'https') {
      throw new Problem('malformed-request', 'The scheme of a request over TLS is https.');
    }
  }
}

const COLON = 0x3a;

import { NotApplicable } from './check.ts';
import { Exchange } from './exchange.ts';
import { type Address, type Reply, Wire } from './wire.ts';

/** One front end of the gateway: where it listens, and the origin a browser would be on. */
export interface Site {
  readonly address: Address;
  /** `https://console.acme.example`. */
  readonly origin: string;
  /** The tenant's mount, or empty. */
  readonly mount: string;
}

/** Told of every answer, so that what must never be seen can be looked for in all of them. */
export interface Journal {
  readonly secrets: readonly string[];
  record(reply: Reply): void;
}

type HeaderList = readonly (readonly [name: string, value: string])[];

export interface RequestOptions {
  /** Behind Host, Cookie and the proof of origin. */
  readonly headers?: HeaderList;
  readonly body?: string | Buffer;
  /** Default `application/json` with a body, nothing without one; null leaves it out. */
  readonly contentType?: string | null;
  /** Headers that prove where the request comes from; default `Sec-Fetch-Site: same-origin`. */
  readonly proof?: HeaderList;
  /** Sent in place of the site's Host. */
  readonly host?: string;
}

const SAME_ORIGIN: HeaderList = [['Sec-Fetch-Site', 'same-origin']];

/** A page of a site, down to the bytes. Every request has a connection of its own. */
export class FrontEnd {
  readonly site: Site;
  /** The Cookie header; empty when nobody is signed in. */
  readonly cookie: string;
  readonly journal: Journal;

  constructor(site: Site, journal: Journal, cookie = '') {
    this.site = site;
    this.journal = journal;
    this.cookie = cookie;
  }

  withCookie(cookie: string): FrontEnd {
    return new FrontEnd(this.site, this.journal, cookie);
  }

  get host(): string {
    return new URL(this.site.origin).host;
  }

  /** `/-/…` is the gateway's own and stands outside the mount. */
  target(path: string): string {
    return path.startsWith('/-/') ? path : `${this.site.mount}${path}`;
  }

  bytes(method: string, path: string, options: RequestOptions = {}): Buffer {
    const { headers = [], body, proof = SAME_ORIGIN } = options;
    const contentType =
      options.contentType === undefined && body !== undefined ? 'application/json' : options.contentType;
    const lines = [`${method} ${this.target(path)} HTTP/1.1`, `Host: ${options.host ?? this.host}`];
    if (this.cookie !== '') lines.push(`Cookie: ${this.cookie}`);
    if (typeof contentType === 'string') lines.push(`Content-Type: ${contentType}`);
    if (body !== undefined) lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
    for (const [name, value] of [...proof, ...headers]) lines.push(`${name}: ${value}`);
    return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body ?? '')]);
  }

  fetch(method: string, path: string, options: RequestOptions = {}): Promise<Exchange> {
    return this.exchange(this.bytes(method, path, options), method);
  }

  /** Sends bytes as they are. Rejects with `NoReply`. */
  async exchange(bytes: Buffer, method = 'GET'): Promise<Exchange> {
    const wire = await Wire.open(this.site.address);
    try {
      wire.send(bytes);
      const reply = await wire.reply(method);
      this.journal.record(reply);
      return new Exchange(bytes, reply, this.journal.secrets);
    } finally {
      wire.close();
    }
  }

  /** Signs in; the exchange tells how it went. A cookie that is held already is sent along. */
  signIn(credentials: Readonly<Record<string, string>>): Promise<Exchange> {
    return this.fetch('POST', '/-/session', { body: JSON.stringify(credentials) });
  }
}

/** The session cookie an answer sets, as it is sent back: `name=value`. */
export function cookieOf(exchange: Exchange): string {
  const cookie = exchange.headers('set-cookie')[0]?.split(';', 1)[0] ?? '';
  exchange.must(exchange.status === 201 && /^[^=]+=./.test(cookie), '201 and a Set-Cookie with the session');
  return cookie;
}

/** The header names of a WebSocket handshake. */
export const HANDSHAKE: HeaderList = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'c21va2Utc21va2Utc21vaw=='],
];

export function notOffered(method: string): NotApplicable {
  return new NotApplicable(`the tenant does not offer the login method ${method}`);
}

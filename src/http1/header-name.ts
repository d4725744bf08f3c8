/** What a response header means to whoever relays it. Numbers, because every header of every response is sorted by it. */
export const HEADER = {
  plain: 0,
  contentLength: 1,
  transferEncoding: 2,
  connection: 3,
  keepAlive: 4,
  /** For one hop only (RFC 9110 §7.6.1), and of no use to the hop itself. */
  hop: 5,
  contentType: 6,
  date: 7,
  location: 8,
  link: 9,
  setCookie: 10,
  /** The gateway decides itself: CORS and its request id. */
  own: 11,
  rateLimit: 12,
  rateRemaining: 13,
  rateReset: 14,
} as const;

export type HeaderKind = (typeof HEADER)[keyof typeof HEADER];

/** A response header's name as one server spells it. One object per spelling, so that names are judged once, not per response. */
export interface HeaderName {
  readonly text: string;
  readonly lower: string;
  readonly kind: HeaderKind;
}

const KINDS: ReadonlyMap<string, HeaderKind> = new Map<string, HeaderKind>([
  ['content-length', HEADER.contentLength],
  ['transfer-encoding', HEADER.transferEncoding],
  ['connection', HEADER.connection],
  ['keep-alive', HEADER.keepAlive],
  ['proxy-authenticate', HEADER.hop],
  ['proxy-authentication-info', HEADER.hop],
  ['proxy-connection', HEADER.hop],
  ['te', HEADER.hop],
  ['trailer', HEADER.hop],
  ['upgrade', HEADER.hop],
  ['content-type', HEADER.contentType],
  ['date', HEADER.date],
  ['location', HEADER.location],
  ['link', HEADER.link],
  ['set-cookie', HEADER.setCookie],
  ['x-request-id', HEADER.own],
  ['access-control-allow-credentials', HEADER.own],
  ['access-control-allow-headers', HEADER.own],
  ['access-control-allow-methods', HEADER.own],
  ['access-control-allow-origin', HEADER.own],
  ['access-control-expose-headers', HEADER.own],
  ['access-control-max-age', HEADER.own],
  ['x-ratelimit-limit', HEADER.rateLimit],
  ['x-ratelimit-remaining', HEADER.rateRemaining],
  ['x-ratelimit-reset', HEADER.rateReset],
]);

/** A token (RFC 9110 §5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** No name in use is anywhere near as long, in characters. */
const MAX_LENGTH = 256;
/** Spellings remembered; a server that makes names up gets each of them judged afresh. */
const CAPACITY = 1024;
const known = new Map<string, HeaderName>();

/** The name with its meaning; undefined when it is no header name. */
export function headerName(spelling: string): HeaderName | undefined {
  const found = known.get(spelling);
  if (found !== undefined) return found;
  if (spelling.length > MAX_LENGTH || !TOKEN.test(spelling)) return undefined;
  // A copy: what was cut out of a head would keep the whole head in memory for as long as the name is known.
  const text = Buffer.from(spelling, 'latin1').toString('latin1');
  const lower = text.toLowerCase();
  const name = { text, lower, kind: KINDS.get(lower) ?? HEADER.plain };
  if (known.size < CAPACITY) known.set(text, name);
  return name;
}

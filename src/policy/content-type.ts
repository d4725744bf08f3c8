import type { Inbound } from '../exchange.ts';
import { Problem } from '../problem.ts';
import type { Route } from '../tenant.ts';

/** How a body can be looked into. An opaque one is passed unread: the operator has listed its type. */
export type BodyFormat = 'json' | 'form' | 'opaque';

type Head = Pick<Inbound, 'headers' | 'rawHeaders'>;

/**
 * Judges Content-Type and Content-Encoding. A body must come with exactly one Content-Type, one the route lists
 * (`image/*` lists a whole type), in UTF-8 where it says so, and uncompressed, because nobody could judge it otherwise. A
 * request without a body may leave it out. Throws Problem `unsupported-media-type`.
 */
export function requireContentType(head: Head, route: Route, hasBody: boolean): void {
  const encoding = head.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw refuse('A body with a Content-Encoding is not taken.');
  }
  const value = head.headers['content-type'];
  if (value === undefined) {
    if (hasBody) throw refuse('A body needs a Content-Type.');
    return;
  }
  if (countContentTypes(head.rawHeaders) > 1) throw refuse('Content-Type was sent more than once.');
  // The usual value is the listed media type itself, without parameters.
  if (!route.contentTypes.has(value)) requireListed(value, route.contentTypes);
}

/** What kind of text the body is, by its media type. Expects headers that `requireContentType` has passed. */
export function bodyFormat({ headers }: Pick<Inbound, 'headers'>): BodyFormat {
  const mediaType = mediaTypeOf(headers['content-type'] ?? '');
  if (mediaType === 'application/x-www-form-urlencoded') return 'form';
  return mediaType.includes('json') ? 'json' : 'opaque';
}

const MEDIA_TYPE = /^[!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+$/;
/** One `;` and the parameter behind it, which may be missing (RFC 9110 §5.6.6). */
const PARAMETER = /;[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)=([!#$%&'*+.^_`|~0-9A-Za-z-]+|"(?:[^"\\]|\\.)*")[ \t]*)?/y;

function requireListed(value: string, listed: ReadonlySet<string>): void {
  const mediaType = mediaTypeOf(value);
  if (!MEDIA_TYPE.test(mediaType)) throw refuse('The Content-Type is malformed.');
  const range = `${mediaType.slice(0, mediaType.indexOf('/'))}/*`;
  if (!listed.has(mediaType) && !listed.has(range)) {
    throw refuse(`This route takes bodies of type ${[...listed].join(', ')}.`);
  }
  const semicolon = value.indexOf(';');
  let at = semicolon === -1 ? value.length : semicolon;
  while (at < value.length) {
    PARAMETER.lastIndex = at;
    const parameter = PARAMETER.exec(value);
    if (parameter === null) throw refuse('A parameter of the Content-Type is malformed.');
    const [text, name, quoted = ''] = parameter;
    // Its extended forms `charset*` and `charset*0` (RFC 2231) are not taken at all.
    if (name !== undefined && /^charset/i.test(name) && !isUtf8(name, quoted)) {
      throw refuse('The only charset taken is utf-8.');
    }
    at += text.length;
  }
}

function isUtf8(name: string, value: string): boolean {
  return /^charset$/i.test(name) && /^(?:utf-?8|"utf-?8")$/i.test(value);
}

function mediaTypeOf(value: string): string {
  const semicolon = value.indexOf(';');
  return (semicolon === -1 ? value : value.slice(0, semicolon)).trim().toLowerCase();
}

/** node:http keeps the first of several and drops the rest in silence; the upstream might read another. */
function countContentTypes(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 12 && name.toLowerCase() === 'content-type') count++;
  }
  return count;
}

function refuse(detail: string): Problem {
  return new Problem('unsupported-media-type', detail);
}

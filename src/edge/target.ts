import { Problem } from '../problem.ts';

/** A request target in the one form in which it is routed, judged, signed and sent (RFC 9112 §3.2.1, origin-form). */
export interface CanonicalTarget {
  /** Byte for byte as received; of an absolute-form target, what follows the authority. */
  readonly target: string;
  /** Percent-decoded once, one character per byte. Encoded `/` and `\` stay encoded, as `%2F` and `%5C`. */
  readonly path: string;
  /** What follows the first `?`, undecoded; undefined when there is no `?`. */
  readonly query: string | undefined;
  /** Whether the path has an encoded `/` or `\`, which only a route may permit. */
  readonly encodedSlash: boolean;
}

const SLASH = 0x2f;
const BACKSLASH = 0x5c;
const DOT = 0x2e;
const PERCENT = 0x25;
const QUESTION_MARK = 0x3f;
const HASH = 0x23;

/**
 * Reads the target of a request line. `host` is the request's Host, which an absolute-form target must name.
 * Nothing is ever normalised: what two parties could read differently is refused with Problem `ambiguous-target`.
 */
export function canonicalTarget(raw: string, host: string): CanonicalTarget {
  const target = raw.charCodeAt(0) === SLASH ? raw : originForm(raw, host);
  const length = target.length;
  let pathEnd = -1;
  let firstEscape = -1;
  let afterSlash = false;
  for (let i = 0; i < length; i++) {
    const code = target.charCodeAt(i);
    if (code <= 0x20 || code >= 0x7f || code === BACKSLASH || code === HASH) throw forbiddenByte(code);
    if (code === PERCENT) {
      if (byteAt(target, i) === -1) throw ambiguous('A percent sign is not followed by two hexadecimal digits.');
      if (pathEnd === -1 && firstEscape === -1) firstEscape = i;
      i += 2;
      afterSlash = false;
    } else if (pathEnd === -1) {
      if (code === QUESTION_MARK) pathEnd = i;
      else if (code === SLASH) {
        if (afterSlash) throw ambiguous('The path has an empty segment (//).');
        afterSlash = true;
      } else {
        if (afterSlash && code === DOT && isDotSegment(target, i)) throw dotSegment();
        afterSlash = false;
      }
    }
  }
  const query = pathEnd === -1 ? undefined : target.slice(pathEnd + 1);
  const rawPath = pathEnd === -1 ? target : target.slice(0, pathEnd);
  if (firstEscape === -1) return { target, path: rawPath, query, encodedSlash: false };
  const { path, encodedSlash } = decodePath(rawPath, firstEscape);
  return { target, path, query, encodedSlash };
}

/**
 * The target below an edge prefix such as `/api`; undefined when the path is not under it. The prefix ends at a segment
 * boundary: `/apis` is not under `/api`.
 */
export function stripMount(target: CanonicalTarget, mount: string): CanonicalTarget | undefined {
  const { path, query, encodedSlash } = target;
  if (!path.startsWith(mount)) return undefined;
  if (path.length > mount.length && path.charCodeAt(mount.length) !== SLASH) return undefined;
  // The prefix may have been sent with escapes, so that it is longer in the target than in the path.
  let end = 0;
  for (let decoded = 0; decoded < mount.length; decoded++) end += target.target.charCodeAt(end) === PERCENT ? 3 : 1;
  const rest = target.target.slice(end);
  return {
    target: rest.charCodeAt(0) === SLASH ? rest : `/${rest}`,
    path: path.length === mount.length ? '/' : path.slice(mount.length),
    query,
    encodedSlash,
  };
}

const DOT_SEGMENT = /\/\.\.?(?:\/|$)/;
const ABSOLUTE_FORM = /^(https?):\/\/([^/?#]*)/i;

/** The origin-form part of an absolute-form target (RFC 9112 §3.2.2). */
function originForm(raw: string, host: string): string {
  const match = ABSOLUTE_FORM.exec(raw);
  if (match === null) throw ambiguous('The target is neither a path nor an absolute http or https URL.');
  const [prefix, scheme = '', authority = ''] = match;
  if (authority.includes('@')) throw ambiguous('The target has user information.');
  const defaultPort = scheme.length === 4 ? ':80' : ':443';
  if (withoutPort(authority, defaultPort) !== withoutPort(host, defaultPort)) {
    throw ambiguous('The authority of the target is not the Host of the request.');
  }
  const rest = raw.slice(prefix.length);
  return rest.charCodeAt(0) === SLASH ? rest : `/${rest}`;
}

function withoutPort(authority: string, port: string): string {
  const lower = authority.toLowerCase();
  return lower.endsWith(port) ? lower.slice(0, -port.length) : lower;
}

/** Whether the segment that starts at `start` is `.` or `..`, with plain dots. */
function isDotSegment(target: string, start: number): boolean {
  let end = start + 1;
  if (target.charCodeAt(end) === DOT) end++;
  return end === target.length || target.charCodeAt(end) === SLASH || target.charCodeAt(end) === QUESTION_MARK;
}

/**
 * Decodes a path whose escapes are known to be well formed; the first of them is at `firstEscape`. A dot segment made of
 * escapes counts, also between encoded slashes: whoever decodes `..%2F` before resolving leaves the route with it.
 */
function decodePath(rawPath: string, firstEscape: number): { path: string; encodedSlash: boolean } {
  let path = '';
  let segments = '';
  let encodedSlash = false;
  let start = 0;
  for (let i = firstEscape; i !== -1; i = rawPath.indexOf('%', start)) {
    const byte = byteAt(rawPath, i);
    const literal = rawPath.slice(start, i);
    if (byte === SLASH || byte === BACKSLASH) {
      encodedSlash = true;
      path += literal + (byte === SLASH ? '%2F' : '%5C');
      segments += `${literal}/`;
    } else {
      const decoded = literal + String.fromCharCode(byte);
      path += decoded;
      segments += decoded;
    }
    start = i + 3;
  }
  const rest = rawPath.slice(start);
  if (DOT_SEGMENT.test(segments + rest)) throw dotSegment();
  return { path: path + rest, encodedSlash };
}

/** The byte that the escape at `index` stands for; -1 when it is malformed. */
function byteAt(text: string, index: number): number {
  const high = hexDigit(text.charCodeAt(index + 1));
  const low = hexDigit(text.charCodeAt(index + 2));
  return high === -1 || low === -1 ? -1 : high * 16 + low;
}

/** NaN, which charCodeAt gives past the end, is no digit. */
function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

function forbiddenByte(code: number): Problem {
  if (code === BACKSLASH) return ambiguous('The target has a backslash.');
  if (code === HASH) return ambiguous('The target has a fragment (#).');
  if (code >= 0x80) return ambiguous('The target has a byte outside ASCII.');
  return ambiguous('The target has a space or a control byte.');
}

function dotSegment(): Problem {
  return ambiguous('The path has a dot segment (. or ..).');
}

function ambiguous(detail: string): Problem {
  return new Problem('ambiguous-target', detail);
}

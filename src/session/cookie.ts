import { Problem } from '../problem.ts';
import type { Session } from './session.ts';

const ID = /^[A-Za-z0-9_-]{43}$/;
const SPACE = 0x20;
const TAB = 0x09;
const EQUALS = 0x3d;

/** What a request says about its session. Malformed: there is a value, but no gateway ever gave it. */
export type SessionCookie =
  | { readonly kind: 'none' }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'id'; readonly id: string };

const NONE: SessionCookie = { kind: 'none' };
const MALFORMED: SessionCookie = { kind: 'malformed' };

/**
 * The cookie's name on an origin. The `__Host-` prefix (RFC 6265bis §4.1.3.2) makes browsers refuse it from any other
 * host, path or plain http; it needs https, so the loopback demo has to do without.
 */
export function sessionCookieName(origin: string): string {
  return origin.startsWith('https:') ? '__Host-session' : 'session';
}

/**
 * Reads the session id from a request's raw headers (name, value, name, value …). Throws Problem `duplicate-cookie` when
 * the name occurs twice, in one Cookie header or over several: one of the two was planted and nothing tells which.
 *
 * Names are compared byte for byte after spaces and tabs only. A parser that trims more (Unicode spaces, quotes) lets a
 * sibling subdomain plant a name that browsers do not protect and the server takes for `__Host-`.
 */
export function readSessionId(rawHeaders: readonly string[], name: string): SessionCookie {
  let value: string | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const header = rawHeaders[i] as string;
    if (header.length !== 6 || header.toLowerCase() !== 'cookie') continue;
    const cookies = rawHeaders[i + 1] as string;
    for (let start = 0; start < cookies.length; ) {
      const semicolon = cookies.indexOf(';', start);
      const end = semicolon === -1 ? cookies.length : semicolon;
      while (start < end && isBlank(cookies.charCodeAt(start))) start++;
      if (cookies.charCodeAt(start + name.length) === EQUALS && cookies.startsWith(name, start)) {
        if (value !== undefined) throw duplicate(name);
        value = cookies.slice(start + name.length + 1, end);
      }
      start = end + 1;
    }
  }
  if (value === undefined) return NONE;
  return ID.test(value) ? { kind: 'id', id: value } : MALFORMED;
}

/** The Set-Cookie value that hands a new session to the browser; it outlives the idle timeout, not the absolute one. */
export function setCookie(name: string, id: string, session: Session): string {
  return `${name}=${id}; Max-Age=${Math.floor(session.lifetime.absolute / 1000)}; ${attributes(name)}`;
}

/** The Set-Cookie value that takes the cookie away. */
export function clearCookie(name: string): string {
  return `${name}=; Max-Age=0; ${attributes(name)}`;
}

/** The Problem for a cookie that stands for no session any more: the browser had better forget it. */
export function endedSession(name: string): Problem {
  return new Problem('unauthorized', 'The session has ended or never was: sign in again.', {
    headers: { 'Set-Cookie': clearCookie(name) },
  });
}

function attributes(name: string): string {
  return `Path=/; HttpOnly; SameSite=Strict${name.startsWith('__Host-') ? '; Secure' : ''}`;
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

function duplicate(name: string): Problem {
  return new Problem('duplicate-cookie', `The cookie ${name} was sent more than once; it is cleared now.`, {
    headers: { 'Set-Cookie': clearCookie(name) },
  });
}

/** Bytes of a message that are shown. */
const LIMIT = 1600;
const HIDDEN = '[redacted]';

/** Header lines whose whole value is a credential. */
const CREDENTIAL = /^((?:proxy-)?authorization:[ \t]*)[^\r\n]+/gim;
const COOKIE = /^(cookie:[ \t]*)([^\r\n]+)/gim;
const SET_COOKIE = /^(set-cookie:[ \t]*[^=;\r\n]*=)[^;\r\n]*/gim;
/** Members of a JSON text that hold a secret, and of JSON that stands in a JSON string. */
const MEMBER = /("(?:password|token|secret_?key)"\s*:\s*")(?:[^"\\]|\\.)*/gi;
const NESTED_MEMBER = /(\\"(?:password|token|secret_?key)\\"\s*:\s*\\")(?:(?!\\").)*/gi;
/** A session id in any other place, such as a log line of a body: 256 bits in base64url. */
const SESSION_ID = /(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])/g;

/**
 * A message as a person or a CI log may see it: cookies, credentials, passwords and `secrets` hidden, bytes that are no
 * printable text escaped, cut off at 1600 characters.
 */
export function shown(message: Buffer | string, secrets: readonly string[] = []): string {
  let text = typeof message === 'string' ? message : message.toString('utf8');
  for (const secret of secrets) if (secret !== '') text = text.replaceAll(secret, HIDDEN);
  text = text
    .replace(CREDENTIAL, `$1${HIDDEN}`)
    .replace(COOKIE, (_line, name: string, pairs: string) => `${name}${pairs.replace(/=[^;]*/g, `=${HIDDEN}`)}`)
    .replace(SET_COOKIE, (line, start: string) => (line.length > start.length ? `${start}${HIDDEN}` : line))
    .replace(MEMBER, `$1${HIDDEN}`)
    .replace(NESTED_MEMBER, `$1${HIDDEN}`)
    .replace(SESSION_ID, HIDDEN)
    .replaceAll('\r\n', '\n')
    .replace(/[^\n\t\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd]/g, escaped)
    .trimEnd();
  return text.length > LIMIT ? `${text.slice(0, LIMIT)}\n… ${text.length - LIMIT} more characters` : text;
}

function escaped(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
}

import type { z } from 'zod';
import type { PathSegment } from './fault.ts';

type Issue = z.core.$ZodIssue;

/** Keys below which everything is a secret or may be one: a store's URL may hold a password. */
const SECRET_KEYS = new Set<PathSegment>(['secretKey', 'key', 'token', 'sealKeys', 'store']);
/** Sections of which everything may be a secret that is not plainly something else, such as a keypair written as a text. */
const SECRET_SECTIONS = new Set<PathSegment>(['keypairs', 'users']);
const HARMLESS_KEYS = new Set<PathSegment>(['accessKey', 'roles', 'admin', 'state', 'notBefore', 'notAfter']);
const LONGEST = 80;

/** Whether the value at `path` must not be repeated. */
export function isSecretPlace(path: readonly PathSegment[]): boolean {
  if (path.some((segment) => HARMLESS_KEYS.has(segment))) return false;
  return path.at(-1) === 'password' || path.some((segment) => SECRET_KEYS.has(segment) || SECRET_SECTIONS.has(segment));
}

/** Whether the keys of the section at `path` must not be repeated either: it stands where a secret belongs. */
export function standsForSecret(path: readonly PathSegment[]): boolean {
  return path.slice(-2).some((segment) => SECRET_KEYS.has(segment));
}

/** The value at a path of plain data; undefined when there is none. */
export function valueAt(value: unknown, path: readonly PathSegment[]): unknown {
  let inner = value;
  for (const segment of path) {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, segment)) return undefined;
    inner = (inner as Record<PathSegment, unknown>)[segment];
  }
  return inner;
}

/**
 * A value as it may be shown: a scalar as JSON, cut when it is long; anything else by its kind. Undefined where it may be
 * a secret. A text in the place of a section is shown by its kind only, for nobody knows what it was meant to be.
 */
export function describeFound(value: unknown, path: readonly PathSegment[], issue?: Issue): string | undefined {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return 'a section';
  if (isSecretPlace(path)) return undefined;
  if (issue?.code === 'invalid_type' && /^(?:object|record|array)$/.test(issue.expected)) return `a ${kindOf(value)}`;
  const text = JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

function kindOf(value: unknown): string {
  return typeof value === 'string' ? 'text' : typeof value;
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a section',
  record: 'a section',
  array: 'a list',
};

/** What an issue asks for, in the words of the file; undefined when its message is not of that form. */
export function describeExpected(issue: Issue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return KINDS[issue.expected] ?? issue.expected;
    case 'invalid_value':
      return issue.values.length === 1 ? String(issue.values[0]) : `one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return sizeOf(issue.origin, issue.inclusive === false ? 'more than' : 'at least', Number(issue.minimum));
    case 'too_big':
      return sizeOf(issue.origin, issue.inclusive === false ? 'less than' : 'at most', Number(issue.maximum));
    case 'invalid_union':
      return ownWords(issue) ?? expectedOfAll(issue.errors);
    default:
      return ownWords(issue);
  }
}

/** The schema's own messages begin with "expected". */
function ownWords({ message }: Issue): string | undefined {
  return /^expected (.*)$/s.exec(message)?.[1];
}

function sizeOf(origin: string, bound: string, size: number): string {
  if (origin === 'array') return `a list of ${bound} ${size === 1 ? 'one entry' : `${size} entries`}`;
  if (origin === 'string') return `a text of ${bound} ${size} character${size === 1 ? '' : 's'}`;
  return `a number of ${bound} ${size}`;
}

function expectedOfAll(alternatives: readonly (readonly Issue[])[]): string | undefined {
  const each = alternatives.map(([issue]) => issue && describeExpected(issue));
  return each.includes(undefined) ? undefined : [...new Set(each)].join(' or ');
}

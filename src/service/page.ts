import type { Call } from './call.ts';
import { ServiceProblem } from './problem.ts';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const MAX_OFFSET = 1_000_000_000;

export interface Page<T> {
  readonly items: readonly T[];
  /** Of the whole collection. */
  readonly total: number;
  /** The Link header: first, prev, next and last (RFC 8288), absolute and with the other query parameters kept. */
  readonly link: string;
}

/** The part of a collection that `?limit=` (1 to 100, default 20) and `?offset=` ask for. Throws `invalid-params`. */
export function pageOf<T>(call: Call, collection: readonly T[]): Page<T> {
  const limit = integer(call.query, 'limit', DEFAULT_LIMIT, 1, MAX_LIMIT);
  const offset = integer(call.query, 'offset', 0, 0, MAX_OFFSET);
  const total = collection.length;
  const last = Math.max(0, Math.ceil(total / limit) - 1) * limit;
  const links = [`${target(call, limit, 0)}; rel="first"`];
  if (offset > 0) links.push(`${target(call, limit, Math.max(0, offset - limit))}; rel="prev"`);
  if (offset + limit < total) links.push(`${target(call, limit, offset + limit)}; rel="next"`);
  links.push(`${target(call, limit, last)}; rel="last"`);
  return { items: collection.slice(offset, offset + limit), total, link: links.join(', ') };
}

function target(call: Call, limit: number, offset: number): string {
  const query = new URLSearchParams(call.query);
  query.set('limit', String(limit));
  query.set('offset', String(offset));
  return `<${call.origin}${call.path}?${query}>`;
}

function integer(query: URLSearchParams, name: string, fallback: number, min: number, max: number): number {
  const texts = query.getAll(name);
  const [text] = texts;
  if (text === undefined) return fallback;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (texts.length > 1 || !(value >= min && value <= max)) {
    throw new ServiceProblem('invalid-params', `The parameter ${name} must be one whole number from ${min} to ${max}.`);
  }
  return value;
}

import type { Inbound } from '../exchange.ts';
import { Problem } from '../problem.ts';
import { scanJsonBody } from './json-body.ts';
import { stringAt } from './json-keys.ts';
import { forEachParameter } from './parameters.ts';

const MEMBERS: ReadonlySet<string> = new Set(['query', 'operationName', 'variables', 'extensions']);
const PARAMETERS: ReadonlySet<string> = new Set([...MEMBERS].map((name) => name.toLowerCase()));

/**
 * Judges the head of a request on a GraphQL route: a POST with a body and no GraphQL parameter in the query, where an
 * upstream might prefer it to the body that is judged. Throws Problem `graphql-invalid`.
 */
export function requireGraphqlPost(inbound: Pick<Inbound, 'method' | 'query' | 'body'>): void {
  if (inbound.method !== 'POST') throw invalid('GraphQL is spoken by POST only.');
  if (inbound.body.kind === 'none') throw invalid('A GraphQL request needs a body.');
  if (inbound.query === undefined) return;
  forEachParameter(inbound.query, (name) => {
    const bracket = name.indexOf('[');
    const parameter = (bracket === -1 ? name : name.slice(0, bracket)).trim().toLowerCase();
    if (PARAMETERS.has(parameter)) throw invalid(`The GraphQL parameter ${parameter} belongs in the body.`);
  });
}

/**
 * The document of a GraphQL request, `{query, operationName?, variables?, extensions?}` and nothing else: a member that is
 * there twice, in another case or unknown may be one that an upstream reads instead (a stored query's id, for one).
 * Throws Problem `invalid-body`, `graphql-invalid`, or `graphql-operation` for a batch.
 */
export function readGraphqlDocument(body: Buffer): string {
  /** Where the value of each member begins. */
  const members = new Map<string, number>();
  let member = '';
  const text = scanJsonBody(body, (key, depth, valueAt) => {
    if (depth === 1) {
      if (!MEMBERS.has(key)) throw invalid(`The body has a member other than ${[...MEMBERS].join(', ')}.`);
      if (members.has(key)) throw invalid(`The body has the member ${key} twice.`);
      members.set(key, valueAt);
      member = key;
    } else if (depth === 2 && member === 'extensions' && key.toLowerCase() === 'persistedquery') {
      throw invalid('Persisted queries are not allowed.');
    }
  });
  const first = text.trimStart()[0];
  if (first === '[') throw new Problem('graphql-operation', 'Batches are not allowed.');
  if (first !== '{') throw invalid('The body is no JSON object.');
  const requireKind = (name: string, opening: '"' | '{') => {
    const at = members.get(name);
    if (at === undefined || text[at] === 'n' || text[at] === opening) return;
    throw invalid(`The member ${name} must be ${opening === '{' ? 'an object' : 'a text'} or null.`);
  };
  requireKind('operationName', '"');
  requireKind('variables', '{');
  requireKind('extensions', '{');
  const query = members.get('query');
  const document = query === undefined ? undefined : stringAt(text, query);
  if (document === undefined) throw invalid('The member query must be a text.');
  return document;
}

function invalid(detail: string): Problem {
  return new Problem('graphql-invalid', detail);
}

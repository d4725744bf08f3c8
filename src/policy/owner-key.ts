import { Problem } from '../problem.ts';
import type { BodyFormat } from './content-type.ts';
import { scanJsonBody } from './json-body.ts';
import { OwnerKeySearch, type SearchTerms } from './owner-key-search.ts';
import { forEachParameter } from './parameters.ts';

/**
 * owner_access_key borrows another user's scope with an administrator keypair's privilege (service-api.md §4). Whoever
 * may not name it must not get it past the gateway in any spelling an upstream might fold into that name: any case, with
 * other separators or none, inside brackets, padded with what is no letter or digit.
 */
const MENTION = /(?<![a-z0-9])owner[-_. ]*access[-_. ]*key(?![a-z0-9])/i;

const NAME = /owner[-_. ]*access[-_. ]*key/i;
/** Found three times as fast as the whole name; most bodies do not have even that. */
const END_OF_NAME = /access[-_. ]*key/i;
const ASCII_ESCAPE = /\\u00[2-7]/i;

/**
 * Whether a key of a JSON text could be a mention: the text has the name as it stands, or an escape that stands for an
 * ASCII character; or a NUL, as JSON in UTF-16 does, where the name would not be seen.
 */
function isSuspectJson(text: string): boolean {
  return (
    (END_OF_NAME.test(text) && NAME.test(text)) ||
    ((text.includes('\\u00') || text.includes('\\U00')) && ASCII_ESCAPE.test(text)) ||
    text.includes('\0')
  );
}

/** The same for a query or a form: the name as it stands, where `+` is a space, or an escape. */
function isSuspectForm(text: string): boolean {
  return text.includes('%') || NAME_IN_FORM.test(text);
}

const NAME_IN_FORM = /owner[-_. +]*access[-_. +]*key/i;

/** For a body that is searched as it arrives. */
const SEARCHES: Readonly<Record<'json' | 'form', SearchTerms>> = {
  json: { isSuspect: isSuspectJson, separators: /[-_. ]+/g },
  form: { isSuspect: isSuspectForm, separators: /[-_. +]+/g },
};

/** A search to feed a body to as it arrives; undefined for a body that nothing is looked for in. */
export function searchFor(format: BodyFormat): OwnerKeySearch | undefined {
  return format === 'opaque' ? undefined : new OwnerKeySearch(SEARCHES[format]);
}

/** How often a query (what follows the `?`) names owner_access_key. */
export function mentionsInQuery(query: string | undefined): number {
  let mentions = 0;
  if (query !== undefined && isSuspectForm(query)) {
    forEachParameter(query, (name) => {
      if (MENTION.test(name)) mentions++;
    });
  }
  return mentions;
}

/** How often a body names it, at any depth of a JSON text. Throws Problem `invalid-body`. */
export function mentionsInBody(body: Buffer, format: BodyFormat): number {
  if (format === 'opaque') return 0;
  const bytes = body.toString('latin1');
  if (format === 'form') return mentionsInQuery(bytes);
  // Most bodies pass this search, which is linear, and are never read as JSON.
  if (!isSuspectJson(bytes)) return 0;
  let mentions = 0;
  scanJsonBody(body, (key) => {
    if (MENTION.test(key)) mentions++;
  });
  return mentions;
}

/** Throws Problem `owner-access-key`: to a role that may not name it, and to any that names it more than once. */
export function judgeMentions(mentions: number, mayName: boolean): void {
  if (mentions > 0 && !mayName) {
    throw new Problem('owner-access-key', 'Your role may not act on behalf of another access key.');
  }
  if (mentions > 1) {
    throw new Problem(
      'owner-access-key',
      'owner_access_key is there more than once: nobody can tell which one counts.',
    );
  }
}

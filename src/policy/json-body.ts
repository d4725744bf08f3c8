import { Problem } from '../problem.ts';
import { forEachKey, type KeyVisitor } from './json-keys.ts';

// A byte order mark is kept, and refused as no JSON: not every reader skips it (RFC 8259 §8.1).
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Visits the keys of a JSON body and gives its text. Throws Problem `invalid-body` unless it is JSON in UTF-8. */
export function scanJsonBody(body: Buffer, visit: KeyVisitor): string {
  const text = decoded(body);
  if (text === undefined || !forEachKey(text, visit)) {
    throw new Problem('invalid-body', 'The body is no valid JSON in UTF-8.');
  }
  return text;
}

function decoded(body: Buffer): string | undefined {
  try {
    return UTF_8.decode(body);
  } catch {
    return undefined;
  }
}

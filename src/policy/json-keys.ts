/**
 * Called with an object key, unescaped; its depth, 1 for the keys of the outermost object when that is the whole text;
 * and the index at which its value begins.
 */
export type KeyVisitor = (key: string, depth: number, valueAt: number) => void;

/** What may come next: see `forEachKey`. */
type State = 'value' | 'value or ]' | 'key' | 'key or }' | 'comma or end';

/**
 * Goes through a JSON text (RFC 8259) in one pass and visits every object key as often as it is written, which JSON.parse
 * hides. Gives whether the text is valid; keys before a fault have been visited by then. Nothing is built of the text, so
 * a hostile body of any size or depth costs little more than its length.
 */
export function forEachKey(text: string, visit: KeyVisitor): boolean {
  /** The closing bracket of each open one. */
  const open: string[] = [];
  let state: State = 'value';
  for (let i = skipWhitespace(text, 0); i < text.length; i = skipWhitespace(text, i)) {
    const char = text[i];
    if (state === 'comma or end') {
      if (char === ',' && open.length > 0) state = open.at(-1) === '}' ? 'key' : 'value';
      else if (char !== open.pop()) return false;
      i++;
    } else if (char === '}' || char === ']') {
      if (state !== (char === '}' ? 'key or }' : 'value or ]')) return false;
      open.pop();
      state = 'comma or end';
      i++;
    } else if (state === 'key' || state === 'key or }') {
      const end = stringEnd(text, i);
      const colon = skipWhitespace(text, end);
      if (end === -1 || text[colon] !== ':') return false;
      const valueAt = skipWhitespace(text, colon + 1);
      visit(stringOf(text, i, end), open.length, valueAt);
      state = 'value';
      i = valueAt;
    } else if (char === '{' || char === '[') {
      open.push(char === '{' ? '}' : ']');
      state = char === '{' ? 'key or }' : 'value or ]';
      i++;
    } else {
      i = scalarEnd(text, i);
      if (i === -1) return false;
      state = 'comma or end';
    }
  }
  return state === 'comma or end' && open.length === 0;
}

/** The string that begins at `at` of a valid JSON text; undefined when something else does. */
export function stringAt(text: string, at: number): string | undefined {
  const end = stringEnd(text, at);
  return end === -1 ? undefined : stringOf(text, at, end);
}

function stringOf(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : raw;
}

function skipWhitespace(text: string, from: number): number {
  for (let i = from; ; i++) {
    const code = text.charCodeAt(i);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return i;
  }
}

const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

/** The index behind the string that begins at `start`; -1 when there is none. */
function stringEnd(text: string, start: number): number {
  if (text[start] !== '"') return -1;
  for (let i = start + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) return i + 1;
    if (code < 0x20) return -1;
    if (code === 0x5c) {
      ESCAPE.lastIndex = i;
      if (!ESCAPE.test(text)) return -1;
      i = ESCAPE.lastIndex - 1;
    }
  }
  return -1;
}

/** The index behind the string, number or literal that begins at `start`; -1 when there is none. */
function scalarEnd(text: string, start: number): number {
  if (text[start] === '"') return stringEnd(text, start);
  for (const literal of ['true', 'false', 'null']) {
    if (text.startsWith(literal, start)) return start + literal.length;
  }
  NUMBER.lastIndex = start;
  return NUMBER.test(text) ? NUMBER.lastIndex : -1;
}

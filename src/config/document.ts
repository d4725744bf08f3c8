import { readFileSync } from 'node:fs';
import { type Document, isAlias, isCollection, isMap, isNode, LineCounter, parseDocument, visit } from 'yaml';
import { ConfigError, type Fault, type FaultDetails, formatPath, type PathSegment } from './fault.ts';

/** A parsed YAML file that can say where each of its values stands. */
export interface YamlDocument {
  readonly file: string;
  readonly value: unknown;
  /** A fault at the given path, or at the nearest place above it that the file has. */
  fault(path: readonly PathSegment[], message: string, details?: FaultDetails): Fault;
}

/** The file itself could not be read: there is nothing to find faults in. */
export class UnreadableError extends ConfigError {}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EISDIR: 'is a folder, not a file',
  EACCES: 'no permission to read it',
};

/**
 * Reads a YAML file. Throws `UnreadableError`, or `ConfigError` with the line of each syntax error when it is no YAML.
 */
export function readYaml(file: string): YamlDocument {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    const message = UNREADABLE[code] ?? `cannot be read (${code})`;
    throw new UnreadableError([{ file, line: 0, column: 0, path: '', message }]);
  }
  return parseYaml(file, text);
}

export function parseYaml(file: string, text: string): YamlDocument {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    logLevel: 'error',
  });
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const syntaxFault = (offset: number, reason: string): Fault => {
    const hint = hintFor(reason);
    return { file, ...at(offset), path: '', message: withoutText(reason), ...(hint !== undefined && { hint }) };
  };
  if (document.errors.length > 0) {
    const found = document.errors.map(({ pos, code, message }) =>
      syntaxFault(pos[0], code === 'MULTIPLE_DOCS' ? SECOND_DOCUMENT : message),
    );
    // The parser stumbles several times over one slip.
    throw new ConfigError(found.filter(({ line }, i) => line !== found[i - 1]?.line));
  }

  const offsetOf = (path: readonly PathSegment[]): number => {
    let node: unknown = document.contents;
    let offset = isNode(node) ? (node.range?.[0] ?? 0) : 0;
    for (const segment of path) {
      if (!isCollection(node)) break;
      // A fault of a key (an unknown one, or a whole section) is best shown where the key itself stands.
      const pair = isMap(node) ? node.items.find((item) => String(item.key) === String(segment)) : undefined;
      if (isNode(pair?.key)) offset = pair.key.range?.[0] ?? offset;
      node = node.get(segment, true);
      if (pair === undefined && isNode(node)) offset = node.range?.[0] ?? offset;
    }
    return offset;
  };

  let value: unknown;
  try {
    value = document.toJS() ?? {};
  } catch (error) {
    throw new ConfigError([syntaxFault(offsetOfBadAlias(document), (error as Error).message)]);
  }
  return {
    file,
    value,
    fault: (path, message, details) => ({ file, ...at(offsetOf(path)), path: formatPath(path), message, ...details }),
  };
}

const SECOND_DOCUMENT = 'a second document begins here, where one is all there may be';

/** The parser quotes the file behind a colon, and what it quotes may be a secret. */
function withoutText(reason: string): string {
  return reason.replace(/^With stringKeys, /, '').replace(/: .*$/s, '');
}

const QUOTE_IT = 'put quotes around a value that has ": " or " #" in it or begins with one of * & ! % @ ` { [ | >';

function hintFor(reason: string): string | undefined {
  if (/compact mapping|alias|implicit key|reserved character|scalar/i.test(reason)) return QUOTE_IT;
  if (/must be unique/.test(reason)) return 'the key stands there twice; one of the two would be ignored';
  if (/must be strings/.test(reason)) return 'is it a {{ template }} that was never filled in?';
  if (/tab/i.test(reason)) return 'indent with spaces';
  return undefined;
}

/** Where the first alias stands whose anchor does not come before it. */
function offsetOfBadAlias(document: Document): number {
  let offset = 0;
  visit(document, (_key, node) => {
    if (!isAlias(node) || node.resolve(document) !== undefined) return undefined;
    offset = node.range?.[0] ?? 0;
    return visit.BREAK;
  });
  return offset;
}

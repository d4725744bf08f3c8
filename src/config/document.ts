import { readFileSync } from 'node:fs';
import { isCollection, isMap, isNode, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { ConfigError, type Fault, formatPath, type PathSegment } from './fault.ts';

/** A parsed YAML file that can say where each of its values stands. */
export interface YamlDocument {
  readonly file: string;
  readonly value: unknown;
  /** A fault at the given path, or at the nearest place above it that the file has. */
  fault(path: readonly PathSegment[], message: string): Fault;
}

/** Reads a YAML file. Throws `ConfigError` when it cannot be read or is no YAML, with the line of each syntax error. */
export function readYaml(file: string): YamlDocument {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'no such file' : (error as Error).message;
    throw new ConfigError([{ file, line: 0, column: 0, path: '', message: reason }]);
  }
  return parseYaml(file, text);
}

export function parseYaml(file: string, text: string): YamlDocument {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  if (document.errors.length > 0) {
    throw new ConfigError(
      document.errors.map((error) => ({ file, ...at(error.pos[0]), path: '', message: error.message })),
    );
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
    throw new ConfigError([{ file, line: 0, column: 0, path: '', message: (error as Error).message }]);
  }
  return {
    file,
    value,
    fault: (path, message) => ({ file, ...at(offsetOf(path)), path: formatPath(path), message }),
  };
}

/** Validates a document's value. Gives the parsed value, or every fault with its path and line. */
export function validate<S extends z.ZodType>(
  document: YamlDocument,
  schema: S,
): { value: z.output<S>; faults: readonly [] } | { value: undefined; faults: Fault[] } {
  const result = schema.safeParse(document.value);
  if (result.success) return { value: result.data, faults: [] };
  return { value: undefined, faults: result.error.issues.flatMap((issue) => faultsOf(document, [], issue)) };
}

type Issue = z.core.$ZodIssue;

function faultsOf(document: YamlDocument, base: readonly PathSegment[], issue: Issue): Fault[] {
  const path = [...base, ...issue.path.map((segment) => (typeof segment === 'symbol' ? String(segment) : segment))];
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => document.fault([...path, key], 'unknown key'));
    case 'invalid_union': {
      // The alternative that got furthest into the value is the one that was meant.
      const depth = (issues: readonly Issue[]) =>
        Math.max(...issues.map((inner) => inner.path.length * 2 + score(inner)));
      const closest = issue.errors.toSorted((a, b) => depth(b) - depth(a))[0];
      return closest === undefined
        ? [document.fault(path, issue.message)]
        : closest.flatMap((inner) => faultsOf(document, path, inner));
    }
    case 'invalid_type':
      return [document.fault(path, issue.message.replace(/^Invalid input: /, ''))];
    default:
      return [document.fault(path, issue.message)];
  }
}

/** Prefers an alternative of the right type that then failed a finer rule. */
function score(issue: Issue): number {
  return issue.code === 'invalid_type' ? 0 : 1;
}

import { posix } from 'node:path';

/** One import, export … from or import(): `target` is a path below src for our own files, else a package or node: name. */
export interface Import {
  readonly target: string;
  /** `import type` and `export type … from` vanish when the file is run. */
  readonly typeOnly: boolean;
}

export interface Module {
  /** Path below src, `session/cookie.ts`. */
  readonly file: string;
  readonly lines: number;
  readonly imports: readonly Import[];
}

const STATIC = /^(?:import|export)\s+(?<type>type\s+)?(?:[^'";]*?\bfrom\s+)?'(?<target>[^']+)'/gm;
const DYNAMIC = /^(?!\s*(?:\*|\/\/)).*?\bimport\(\s*(?:'(?<target>[^']+)'\s*\))?/gm;

/**
 * Reads a module's imports. It leans on the formatter: declarations begin their line and names are in single quotes.
 * Throws for an import() whose name is computed, for nobody could say what it reaches.
 */
export function readModule(file: string, text: string): Module {
  const imports: Import[] = [];
  for (const { groups } of text.matchAll(STATIC)) {
    imports.push({ target: resolve(file, groups?.['target'] ?? ''), typeOnly: groups?.['type'] !== undefined });
  }
  for (const { groups } of text.matchAll(DYNAMIC)) {
    if (groups?.['target'] === undefined) throw new Error(`${file} has an import() of a computed name`);
    imports.push({ target: resolve(file, groups['target']), typeOnly: false });
  }
  return { file, lines: text.trimEnd().split('\n').length, imports };
}

function resolve(file: string, target: string): string {
  return target.startsWith('.') ? posix.join(posix.dirname(file), target) : target;
}

export function isOurs({ target }: Import): boolean {
  return target.endsWith('.ts');
}

/** The package of an import, `@hono/node-server` of `@hono/node-server/serve-static`. */
export function packageOf({ target }: Import): string {
  return target.split('/', target.startsWith('@') ? 2 : 1).join('/');
}

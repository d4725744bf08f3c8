import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { INSTALLED } from '../installed.ts';
import { MissingProgram } from '../programs.ts';

/** The peers' packages have a folder of their own: Countersign does not depend on what it is measured beside. */
const FOLDER = pathToFileURL(`${INSTALLED}/npm/`);

/** Throws MissingProgram where the package is not installed. */
export function packageVersion(name: string): string {
  try {
    const file = new URL(`node_modules/${name}/package.json`, FOLDER);
    return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  } catch {
    throw new MissingProgram(`the package ${name} is not installed: npm run bench:peers`);
  }
}

/** A package of that folder, which TypeScript knows nothing of. */
export function requirePackage(name: string): unknown {
  return createRequire(FOLDER)(name);
}

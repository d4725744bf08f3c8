import { join } from 'node:path';
import { INSTALLED } from '../installed.ts';
import { findFile, findProgram, MissingProgram } from '../programs.ts';

/** Where the programs are built. */
export const GO_FOLDER = join(INSTALLED, 'go');

/** Program → version, repository and package that it is built from. */
export const GO_PROGRAMS = {
  'aws-sigv4-proxy': {
    version: 'v1.11',
    repository: 'https://github.com/awslabs/aws-sigv4-proxy',
    package: './cmd/aws-sigv4-proxy',
  },
  'oauth2-proxy': { version: 'v7.15.3', repository: 'https://github.com/oauth2-proxy/oauth2-proxy', package: '.' },
} as const;

export type GoProgram = keyof typeof GO_PROGRAMS;

/** The one that bench:peers built, whose version is known, or one that is installed. Throws MissingProgram. */
export function requireGoProgram(name: GoProgram): { program: string; versions: Readonly<Record<string, string>> } {
  const built = findFile([GO_FOLDER], name);
  if (built !== undefined) return { program: built, versions: { [name]: GO_PROGRAMS[name].version } };
  const found = findProgram(name);
  if (found === undefined) throw new MissingProgram(`${name} is not installed: npm run bench:peers, where Go is`);
  return { program: found, versions: {} };
}

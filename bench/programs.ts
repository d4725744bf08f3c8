import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A program that a peer needs is not installed: the peer is shown as missing, not as failed. */
export class MissingProgram extends Error {
  override readonly name = 'MissingProgram';
}

/** Servers are installed there, and an ordinary user's PATH leaves it out. */
const SERVER_FOLDERS = ['/usr/sbin', '/usr/local/sbin'];

/** The path of a program: what the environment variable `variable` names, else the first found on the PATH. */
export function findProgram(name: string, variable?: string): string | undefined {
  const named = variable === undefined ? undefined : process.env[variable];
  if (named) return isExecutable(named) ? named : undefined;
  const folders = [...(process.env['PATH'] ?? '').split(delimiter).filter(Boolean), ...SERVER_FOLDERS];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** The path of a file in the first of these folders that has it. */
export function findFile(folders: readonly string[], name: string): string | undefined {
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

export function requireProgram(name: string, variable?: string): string {
  const found = findProgram(name, variable);
  if (found === undefined) throw new MissingProgram(`${name} is not installed`);
  return found;
}

/** The version in the first line a program prints about itself; undefined when there is no such program or number. */
export function versionOf(program: string | undefined, flag: string): string | undefined {
  if (program === undefined) return undefined;
  const { stdout, stderr } = spawnSync(program, [flag], { encoding: 'utf8', timeout: 5000 });
  return /\d+\.\d+(?:\.\d+)?/.exec(`${stdout}${stderr}`)?.[0];
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

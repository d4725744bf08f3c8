import { fileURLToPath } from 'node:url';

/** The file of a program in this folder, to be run as a process of its own. */
export function programPath(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

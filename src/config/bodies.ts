import { accessSync, constants, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import type { BodySettings } from '../snapshot.ts';
import type { YamlDocument } from './document.ts';
import type { Fault } from './fault.ts';
import type { Config } from './schema.ts';

interface Context {
  readonly document: YamlDocument;
  /** Folder that relative paths are relative to. */
  readonly folder: string;
  readonly faults: Fault[];
}

/** A folder that is named must be one that can be written to; the system's own need not, and is done without then. */
export function buildBodies(config: Config['bodies'], { document, folder, faults }: Context): BodySettings {
  const { inMemory, memory, disk } = config;
  if (inMemory > memory) faults.push(document.fault(['bodies', 'inMemory'], 'inMemory is larger than memory'));
  const named = config.folder === undefined ? undefined : resolve(folder, config.folder);
  if (named !== undefined && !isWritableFolder(named)) {
    faults.push(document.fault(['bodies', 'folder'], `no folder that can be written to: ${named}`));
  }
  return { inMemory, memory, disk, folder: named ?? (hasTemporaryFolder() ? tmpdir() : undefined) };
}

/** Whether the system's folder for temporary files is one. */
export function hasTemporaryFolder(): boolean {
  return isWritableFolder(tmpdir());
}

function isWritableFolder(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

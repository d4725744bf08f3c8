import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Files below `folder` that a process has open, as the kernel names them: what was unlinked ends with ` (deleted)`. */
export function openFilesIn(folder: string, pid: number | 'self' = 'self'): string[] {
  const descriptors = join('/proc', String(pid), 'fd');
  return readdirSync(descriptors).flatMap((fd) => {
    try {
      const target = readlinkSync(join(descriptors, fd));
      return target.startsWith(`${folder}/`) ? [target] : [];
    } catch {
      // Closed since it was listed.
      return [];
    }
  });
}

import { z } from 'zod';
import { size } from './units.ts';

export const bodies = z
  .strictObject({
    inMemory: size.prefault('256KiB').describe('A body up to this size is held in memory, a larger one in a file.'),
    memory: size.prefault('128MiB').describe('All bodies in memory together.'),
    disk: size.prefault('4GiB').describe('All bodies in files together; 0B: none is written to a file.'),
    folder: z
      .string()
      .min(1)
      .optional()
      .describe('Folder of the files, which have no name and vanish with the process; default: TMPDIR or /tmp.'),
  })
  .prefault({})
  .describe('Request bodies, which are held until they are hashed and sent. What does not fit gets 507.');

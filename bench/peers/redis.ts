import { mkdirSync } from 'node:fs';
import type { Children } from '../children.ts';
import { freePort } from '../port.ts';
import { requireProgram } from '../programs.ts';

/** Starts a redis-server that keeps nothing on disk and gives its URL. Throws MissingProgram. */
export async function startRedis(children: Children, folder: string): Promise<string> {
  const program = requireProgram('redis-server', 'REDIS_SERVER');
  const port = await freePort();
  mkdirSync(folder, { recursive: true });
  const command = [
    program,
    '--port',
    `${port}`,
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--save',
    '',
    '--appendonly',
    'no',
  ];
  await children.serve(port, { place: 'rest', command });
  return `redis://127.0.0.1:${port}/0`;
}

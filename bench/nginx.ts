import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Children, ServerProcess } from './children.ts';
import type { Place } from './pinning.ts';
import { freePort } from './port.ts';
import { requireProgram } from './programs.ts';

/** Scratch folders nginx wants to own; by default they are the system's. */
const SCRATCH = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/**
 * Starts an nginx of one worker with a configuration of its own. `http` makes the http block's contents for the port it
 * is to listen on. Throws MissingProgram.
 */
export async function startNginx(
  children: Children,
  folder: string,
  place: Place,
  http: (port: number) => string,
): Promise<ServerProcess> {
  const program = requireProgram('nginx');
  const port = await freePort();
  // Its worker is another user where we are root, so it must be able to pass through.
  mkdirSync(folder, { mode: 0o711 });
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, configuration(folder, http(port)));
  return children.serve(port, { place, command: [program, '-p', folder, '-e', 'stderr', '-c', file] });
}

/** Clients may send as many requests over a connection as they like, as they may with the other peers. */
function configuration(folder: string, http: string): string {
  return `daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr error;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_requests 1000000000;
  ${SCRATCH.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  ${http}
}
`;
}

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Children, ServerProcess } from './children.ts';
import type { Place } from './pinning.ts';
import { freePort } from './port.ts';
import { requireProgram } from './programs.ts';

/** Scratch folders nginx wants to own; by default they are the system's. */
const SCRATCH = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

export interface NginxSettings {
  /** Not there yet. */
  readonly folder: string;
  readonly place: Place;
  /** Files of dynamic modules to load. */
  readonly modules?: readonly string[];
  /** Makes the http block's contents for the port it is to listen on. */
  readonly http: (port: number) => string;
}

/** Starts an nginx of one worker with a configuration of its own. Throws MissingProgram. */
export async function startNginx(children: Children, settings: NginxSettings): Promise<ServerProcess> {
  const { folder, place, http } = settings;
  const program = requireProgram('nginx');
  const port = await freePort();
  // Its worker is another user where we are root, so it must be able to pass through.
  mkdirSync(folder, { mode: 0o711, recursive: true });
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, configuration(settings, http(port)));
  return children.serve(port, { place, command: [program, '-p', folder, '-e', 'stderr', '-c', file] });
}

/** Clients may send as many requests over a connection as they like, as they may with the other peers. */
function configuration({ folder, modules = [] }: NginxSettings, http: string): string {
  return `${modules.map((file) => `load_module ${file};\n`).join('')}daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr error;
events { worker_connections 4096; }
http {
  keepalive_requests 1000000000;
  ${SCRATCH.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  ${http}
}
`;
}

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Peer, UNUSED_COOKIE } from '../peer.ts';
import { freePort } from '../port.ts';
import { requireProgram, versionOf } from '../programs.ts';

export const haproxy: Peer = {
  name: 'haproxy',
  title: 'haproxy, no job',
  required: false,
  async start({ children, folder, upstreamPort }) {
    const program = requireProgram('haproxy');
    const port = await freePort();
    mkdirSync(folder, { recursive: true });
    const file = join(folder, 'haproxy.cfg');
    writeFileSync(file, configuration(port, upstreamPort));
    const server = await children.serve(port, { place: 'proxy', command: [program, '-db', '-f', file] });
    const version = versionOf(program, '-v');
    return { ...server, cookie: UNUSED_COOKIE, versions: version === undefined ? {} : { haproxy: version } };
  },
};

function configuration(port: number, upstreamPort: number): string {
  return `global
  nbthread 1
  maxconn 4096
defaults
  mode http
  timeout connect 5s
  timeout client 75s
  timeout server 75s
  timeout tunnel 75s
  http-reuse always
frontend edge
  bind 127.0.0.1:${port}
  default_backend service
backend service
  server upstream 127.0.0.1:${upstreamPort}
`;
}

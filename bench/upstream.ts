import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Children, ServerProcess } from './children.ts';
import { startNginx } from './nginx.ts';
import { freePort } from './port.ts';
import { MissingProgram } from './programs.ts';
import { programPath } from './servers/path.ts';
import { LARGE_BYTES, LARGE_PATH, RATE_HEADERS, REPLY_BODY, REPLY_PATH } from './upstream-reply.ts';

export interface Upstream extends ServerProcess {
  readonly kind: 'nginx' | 'node:http';
}

/** Starts what the peers forward to: nginx before a node:http server, or where there is no nginx that server alone. */
export async function startUpstream(children: Children, folder: string): Promise<Upstream> {
  const node = await startNodeUpstream(children);
  try {
    return {
      kind: 'nginx',
      ...(await startNginx(children, { folder, place: 'rest', http: nginxReplies(folder, node) })),
    };
  } catch (error) {
    if (!(error instanceof MissingProgram)) throw error;
    return { kind: 'node:http', ...node };
  }
}

export async function startNodeUpstream(children: Children): Promise<ServerProcess> {
  const port = await freePort();
  return children.serve(port, { place: 'rest', command: [process.execPath, programPath('upstream.ts'), `${port}`] });
}

/** What is asked for most comes from nginx itself; it passes on the rest unbuffered and with the Host that was signed. */
function nginxReplies(folder: string, node: ServerProcess) {
  const rates = Object.entries(RATE_HEADERS).map(([name, value]) => `add_header ${name} ${value};`);
  return (port: number) => {
    const large = join(folder, 'large');
    writeFileSync(large, Buffer.alloc(LARGE_BYTES, 'x'));
    return `map $http_upgrade $connection_header { default upgrade; '' ''; }
  upstream node { server 127.0.0.1:${node.port}; keepalive 256; }
  server {
    listen 127.0.0.1:${port};
    access_log off;
    default_type application/json;
    client_max_body_size 0;
    location = ${REPLY_PATH} { ${rates.join(' ')} return 200 '${REPLY_BODY}'; }
    location = ${LARGE_PATH} { ${rates.join(' ')} types {} default_type application/octet-stream; sendfile on; alias ${large}; }
    location / {
      proxy_pass http://node;
      proxy_http_version 1.1;
      proxy_request_buffering off;
      proxy_buffering off;
      proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_header;
    }
  }`;
  };
}

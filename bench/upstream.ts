import type { Children, ServerProcess } from './children.ts';
import { startNginx } from './nginx.ts';
import { freePort } from './port.ts';
import { MissingProgram } from './programs.ts';
import { programPath } from './servers/path.ts';
import { RATE_HEADERS, REPLY_BODY, REPLY_PATH, SEEN_PATH } from './upstream-reply.ts';

export interface Upstream extends ServerProcess {
  readonly kind: 'nginx' | 'node:http';
}

/** Starts what the peers forward to: nginx, or where there is none a node:http server that answers the same. */
export async function startUpstream(children: Children, folder: string): Promise<Upstream> {
  try {
    return { kind: 'nginx', ...(await startNginx(children, folder, 'rest', nginxReplies)) };
  } catch (error) {
    if (!(error instanceof MissingProgram)) throw error;
    return { kind: 'node:http', ...(await startNodeUpstream(children)) };
  }
}

export async function startNodeUpstream(children: Children): Promise<ServerProcess> {
  const port = await freePort();
  return children.serve(port, { place: 'rest', command: [process.execPath, programPath('upstream.ts'), `${port}`] });
}

function nginxReplies(port: number): string {
  const rates = Object.entries(RATE_HEADERS).map(([name, value]) => `add_header ${name} ${value};`);
  return `server {
    listen 127.0.0.1:${port};
    default_type application/json;
    ${rates.join(' ')}
    location = ${REPLY_PATH} { return 200 '${REPLY_BODY}'; }
    location = ${SEEN_PATH} { return 200 '{"authorization":"$http_authorization","cookie":"$http_cookie"}'; }
  }`;
}

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { refusesStrangers } from '../checks/strangers.ts';
import { startNginx } from '../nginx.ts';
import type { Peer, Stage } from '../peer.ts';
import { findFile, MissingProgram } from '../programs.ts';
import { EVENTS_PATH } from '../upstream-reply.ts';
import { LOGIN_PATH, signInAt } from './login.ts';
import { judgeSignature, KEYPAIR, VERSION } from './signature.ts';

/** Where distributions put nginx's dynamic modules. */
export const MODULE_FOLDERS = ['/usr/lib/nginx/modules', '/usr/lib64/nginx/modules', '/usr/share/nginx/modules'];
/** The second needs the first. */
export const MODULES = ['ndk_http_module.so', 'ngx_http_lua_module.so'];
const SCRIPT = fileURLToPath(new URL('../servers/signing.lua', import.meta.url));

export const nginxLua: Peer = {
  name: 'nginx-lua',
  title: 'nginx + Lua, same job, sessions in a shared dict',
  required: false,
  async start({ children, folder, upstreamPort }: Stage) {
    const modules = MODULES.map((name) => {
      const file = findFile(MODULE_FOLDERS, name);
      if (file === undefined) throw new MissingProgram(`nginx has no ${name}`);
      return file;
    });
    // The worker is another user where we are root, and may not be able to read this checkout.
    const script = readFileSync(SCRIPT, 'utf8');
    const settings = `{
      access_key = '${KEYPAIR.accessKey}', secret_key = '${KEYPAIR.secretKey}',
      version = '${VERSION}', host = '127.0.0.1:${upstreamPort}',
    }`;
    const http = (port: number) => `
  lua_shared_dict sessions 10m;
  init_by_lua_block {
    signing = (function() ${script} end)()(${settings})
  }
  log_format request escape=json '{"time":"$time_iso8601","id":"$request_id","method":"$request_method",'
    '"status":$status,"seconds":$request_time,"upstream":"$upstream_response_time","bytes":$bytes_sent}';
  access_log /dev/null request buffer=32k flush=1s;
  map $http_upgrade $connection_header { default upgrade; '' ''; }
  upstream service { server 127.0.0.1:${upstreamPort}; keepalive 256; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    client_max_body_size 0;
    client_body_buffer_size 256k;
    proxy_http_version 1.1;
    proxy_set_header Host 127.0.0.1:${upstreamPort};
    proxy_set_header X-Forwarded-For $remote_addr;
    proxy_set_header X-Request-ID $request_id;
    proxy_hide_header Set-Cookie;
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Connection $connection_header;
    location = ${LOGIN_PATH} { content_by_lua_block { signing.login() } }
    location / {
      access_by_lua_block { signing.sign() }
      proxy_pass http://service;
    }
    location = ${EVENTS_PATH} {
      access_by_lua_block { signing.sign() }
      proxy_pass http://service;
      proxy_buffering off;
    }
  }`;
    const server = await startNginx(children, { folder, place: 'proxy', modules, http });
    const cookie = await signInAt(server.port);
    return { ...server, cookie, check: () => refusesStrangers(server.port), judge: judgeSignature };
  },
};

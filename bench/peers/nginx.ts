import { startNginx } from '../nginx.ts';
import { type Peer, UNUSED_COOKIE } from '../peer.ts';
import { EVENTS_PATH } from '../upstream-reply.ts';

export const nginx: Peer = {
  name: 'nginx',
  title: 'nginx proxy_pass, no job',
  required: false,
  async start({ children, folder, upstreamPort }) {
    const http = (port: number) => `
  map $http_upgrade $connection_header { default upgrade; '' ''; }
  upstream service { server 127.0.0.1:${upstreamPort}; keepalive 256; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    access_log off;
    client_max_body_size 0;
    location / {
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_header;
    }
    location = ${EVENTS_PATH} {
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }`;
    return { ...(await startNginx(children, { folder, place: 'proxy', http })), cookie: UNUSED_COOKIE };
  },
};

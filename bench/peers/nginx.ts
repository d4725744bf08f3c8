import { startNginx } from '../nginx.ts';
import { type Peer, UNUSED_COOKIE } from '../peer.ts';

export const nginx: Peer = {
  name: 'nginx',
  title: 'nginx proxy_pass, no job',
  required: false,
  async start({ children, folder, upstreamPort }) {
    const http = (port: number) => `
  upstream service { server 127.0.0.1:${upstreamPort}; keepalive 256; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
  }`;
    return { ...(await startNginx(children, folder, 'proxy', http)), cookie: UNUSED_COOKIE };
  },
};

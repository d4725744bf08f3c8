import { type Peer, UNUSED_COOKIE } from '../peer.ts';
import { freePort } from '../port.ts';
import { programPath } from '../servers/path.ts';

/** What every ratio is relative to. */
export const httpProxy3: Peer = {
  name: 'http-proxy-3',
  title: 'http-proxy-3, bare, keep-alive agent',
  required: true,
  async start({ children, upstreamPort }) {
    const port = await freePort();
    const command = [process.execPath, programPath('http-proxy-3.ts'), `${port}`, `${upstreamPort}`];
    return { ...(await children.serve(port, { place: 'proxy', command })), cookie: UNUSED_COOKIE };
  },
};

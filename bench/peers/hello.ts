import { type Peer, UNUSED_COOKIE } from '../peer.ts';
import { freePort } from '../port.ts';
import { programPath } from '../servers/path.ts';

export const hello: Peer = {
  name: 'node-http',
  title: 'node:http “hello”, no upstream (the floor)',
  required: true,
  workloads: ['get-1k', 'latency', 'post-1k'],
  async start({ children }) {
    const port = await freePort();
    const command = [process.execPath, programPath('hello.ts'), `${port}`];
    return { ...(await children.serve(port, { place: 'proxy', command })), cookie: UNUSED_COOKIE, answersItself: true };
  },
};

import { checkEcho } from '../checks/echo.ts';
import { ECHO_PATH } from '../upstream-reply.ts';
import type { RequestShape, Workload } from '../workload.ts';

const SOCKETS = 64;
/** What a browser's handshake says of where it comes from, besides what every WebSocket handshake says. */
const REQUEST: RequestShape = {
  method: 'GET',
  path: ECHO_PATH,
  headers: { 'Sec-Fetch-Site': 'same-origin' },
  body: undefined,
};

export const echo: Workload = {
  name: 'echo',
  title: 'WebSocket echo of 128 bytes, 64 sockets',
  unit: 'message',
  check: (peer) => checkEcho(peer, REQUEST),
  run: (target, seconds, { clients, begin }) => {
    return clients.run('echo.ts', target, REQUEST, { connections: SOCKETS, seconds }, begin);
  },
};

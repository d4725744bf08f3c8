import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Headers, head as responseHead } from './answer.ts';
import type { Call } from './call.ts';
import type { Kernels } from './kernel.ts';
import type { Keyring } from './keyring.ts';
import { ServiceProblem } from './problem.ts';
import { match, type Routes } from './router.ts';
import { scopeOf } from './scope.ts';
import { echo } from './websocket/echo.ts';
import { acceptHandshake, upgradeRequired } from './websocket/handshake.ts';

const PATH = '/v2/stream/kernel/:id/pty';

/** The terminal of a kernel speaks WebSocket; a plain request is told so. */
export const ptyRoutes: Routes = [
  [
    PATH,
    {
      GET: () => {
        throw upgradeRequired();
      },
    },
  ],
];

export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that came behind the handshake. */
  readonly head: Buffer;
  /** The headers every response carries. */
  readonly headers: Headers;
}

/** Opens a verified upgrade to a kernel's terminal, an echo. Throws `not-found`, `upgrade-required`, `malformed-request`. */
export function openPty(call: Call, kernels: Kernels, keyring: Keyring, upgrade: Upgrade): void {
  const [id] = match(PATH, call.path.split('/')) ?? [];
  if (id === undefined) throw new ServiceProblem('not-found', 'There is no WebSocket at this path.');
  const kernel = kernels.get(scopeOf(call, keyring), id);
  const accept = acceptHandshake(upgrade.request);
  const headers = { ...upgrade.headers, Upgrade: 'websocket', Connection: 'Upgrade', 'Sec-WebSocket-Accept': accept };
  upgrade.socket.write(responseHead(101, headers));
  echo(upgrade.socket, upgrade.head, kernel.ended.signal);
}

import { Server } from 'node:net';

/** A listener that can be stopped in order. */
export interface Drainable extends Server {
  closeIdleConnections(): void;
  closeAllConnections(): void;
}

/** Where a process is in its life; what readiness reports. */
export type Phase = 'starting' | 'ready' | 'draining' | 'stopped';

/** How long a start waits for the session store, in milliseconds. */
export const STORE_PATIENCE = 2000;

/** Starts listening. Rejects with the listen error, e.g. code EADDRINUSE. Resolves to the port. */
export function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

/** Resolves once `isReady` says so, or after `patience` milliseconds; gives whether it did. */
export async function untilReady(isReady: () => boolean, patience: number): Promise<boolean> {
  for (const deadline = performance.now() + patience; performance.now() < deadline; ) {
    if (isReady()) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return isReady();
}

/**
 * Stops accepting and lets requests in flight finish. Resolves when the last connection has closed. At the deadline
 * (milliseconds) it calls `breakOff`, which must end what has left the server's care, such as WebSockets, and breaks the
 * rest itself; gives whether everything finished before.
 */
export function drain(server: Drainable, deadline: number, breakOff: () => void): Promise<boolean> {
  return new Promise((resolve) => {
    let finished = true;
    // A kept connection becomes idle only when its last answer is out: look again until none is left.
    const sweep = setInterval(() => server.closeIdleConnections(), 50);
    const timer = setTimeout(() => {
      finished = false;
      breakOff();
      server.closeAllConnections();
    }, deadline);
    server.close(() => {
      clearInterval(sweep);
      clearTimeout(timer);
      resolve(finished);
    });
    server.closeIdleConnections();
  });
}

/**
 * The same for a server whose listening socket another process goes on serving, and whose every answer closes its
 * connection. A connection that is idle stays open until the deadline: a request may be on its way on it.
 */
export function retire(server: Drainable, deadline: number, breakOff: () => void): Promise<boolean> {
  return new Promise((resolve) => {
    let finished = true;
    const timer = setTimeout(() => {
      server.closeIdleConnections();
      server.getConnections((_error, count) => {
        if (count === 0) return;
        finished = false;
        breakOff();
        server.closeAllConnections();
      });
    }, deadline);
    // The close of an HTTP server would close idle connections at once.
    Server.prototype.close.call(server, () => {
      clearTimeout(timer);
      resolve(finished);
    });
  });
}

/** Calls `stop` once, at the first SIGTERM or SIGINT; a second signal ends the process at once. */
export function onStopSignal(stop: () => void): void {
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(1);
      stopping = true;
      stop();
    });
  }
}

/** Calls `replace` at every SIGUSR2, which would otherwise end the process. */
export function onReplaceSignal(replace: () => void): void {
  process.on('SIGUSR2', replace);
}

/** Calls `reload` at every SIGHUP, which would otherwise end the process. */
export function onReloadSignal(reload: () => void): void {
  process.on('SIGHUP', reload);
}

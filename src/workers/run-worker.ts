import { Channel, type ChannelEnd } from './channel.ts';
import type { PrimaryCalls, WorkerCalls } from './messages.ts';
import { Worker } from './worker.ts';

/** The process a worker runs in. */
export type WorkerHost = ChannelEnd &
  Pick<NodeJS.Process, 'disconnect'> & { on(event: NodeJS.Signals, listener: () => void): unknown };

/**
 * Signals that are meant for the primary, and reach a worker when they are sent to the whole process group. SIGTERM too: a
 * worker that stopped by itself would leave connections waiting on a socket the primary still holds.
 */
const NOT_FOR_WORKERS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'] as const;

/**
 * Runs this process as a worker until it is told to stop or loses its primary, and has finished what was in flight.
 */
export function runWorker(host: WorkerHost): Promise<void> {
  return new Promise((resolve, reject) => {
    let worker: Worker | undefined;
    const running = () => {
      if (worker === undefined) throw new Error('the worker has not been started');
      return worker;
    };
    const stop = (deadline: number, retire: boolean) => {
      const stopped = worker === undefined ? Promise.resolve() : worker.stop(deadline, retire);
      stopped.then(() => {
        // Its open end would keep the process.
        if (host.connected) host.disconnect?.();
        resolve();
      }, reject);
    };
    const primary: Channel<PrimaryCalls, WorkerCalls> = new Channel<PrimaryCalls, WorkerCalls>(host, {
      async start(setup) {
        worker = new Worker(setup, primary);
        await worker.prepare();
      },
      listen: () => running().listen(),
      reload: (change) => running().calls.reload(change),
      setLogLevel: (level) => running().calls.setLogLevel(level),
      putSession: (session) => running().calls.putSession(session),
      touchSession: (touch) => running().calls.touchSession(touch),
      dropSessions: (keys) => running().calls.dropSessions(keys),
      hearLimits: (news) => running().calls.hearLimits(news),
      stop: ({ deadline, retire }) => stop(deadline, retire),
    });
    for (const signal of NOT_FOR_WORKERS) host.on(signal, () => undefined);
    host.on('disconnect', () => stop(worker?.drain ?? 0, false));
  });
}

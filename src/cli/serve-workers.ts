import { formatFault } from '../config/fault.ts';
import type { ConfigWatch } from '../config/watch.ts';
import { stdoutSink } from '../observe/line-sink.ts';
import { createLog } from '../observe/log.ts';
import { onReloadSignal, onReplaceSignal, onStopSignal, type Phase } from '../process/lifecycle.ts';
import type { Snapshot } from '../snapshot.ts';
import { reserveAddress } from '../workers/listening-socket.ts';
import { Primary } from '../workers/primary.ts';
import { CliError, EXIT, type Terminal } from './command.ts';
import { createOperatorListener, type OperatorListener } from './operator-listener.ts';
import { recordReload } from './reload-log.ts';
import { explainListen, listenForOperators, openAuditOrExplain, originsOf, startReferenceService } from './starting.ts';

/**
 * Serves with several processes. This one serves no request: it keeps the workers running, and has whatever there is once:
 * configuration, operators' listener, audit log, reference Service, signals, log.
 */
export async function serveWithWorkers(config: ConfigWatch, terminal: Terminal): Promise<number> {
  const snapshot = config.current;
  const sink = stdoutSink();
  const log = createLog(snapshot.logLevel, sink);
  for (const warning of config.lastReload.warnings) {
    log.warn({ path: warning.path, line: warning.line }, formatFault(warning));
  }
  const audit = openAuditOrExplain(snapshot, log);
  config.onReload((result) => recordReload(log, audit, result));
  onReloadSignal(() => {
    audit.reopen();
    void config.reload('SIGHUP');
  });

  const { host, port } = snapshot.listen;
  const hopeless = Promise.withResolvers<Error>();
  const closers: (() => Promise<unknown> | undefined)[] = [() => audit.close()];
  let phase: Phase = 'starting';
  try {
    const service = config.service && (await startReferenceService(config.service));
    closers.unshift(async () => service?.close());
    const address = await explainListen(reserveAddress(host, port), host, port, 'the gateway');
    const primary = new Primary({
      snapshot: () => config.current,
      address,
      log,
      audit,
      onLines: (lines) => sink.write(lines),
      reports: config.operator !== undefined,
      onHopeless: hopeless.resolve,
    });
    closers.unshift(
      () => primary.pool.stop(0),
      () => primary.close(),
    );
    let reloaded: Promise<void> = Promise.resolve();
    config.onReload(({ ok, added, removed }) => {
      if (ok) reloaded = primary.reload(added, removed);
    });
    onReplaceSignal(() => void primary.pool.roll(() => config.current.drain));
    const operator = openOperatorListener(config, primary, {
      audit,
      log,
      phase: () => (phase === 'ready' && primary.pool.serving === 0 ? 'starting' : phase),
      reloaded: () => reloaded,
    });
    closers.unshift(async () => operator?.close());
    if (operator) await listenForOperators(operator, terminal);
    await startOrExplain(primary);
    phase = 'ready';
    const { workers, tenants } = snapshot;
    log.info({ host, port: address.port, workers, tenants: tenants.map(({ name }) => name) }, 'ready');
    terminal.stderr.write(`countersign is ready: ${originsOf(tenants)}\n`);

    const stopped = new Promise<void>((resolve) => onStopSignal(resolve));
    const failure = await Promise.race([stopped, hopeless.promise]);
    if (failure instanceof Error) throw new CliError(`no worker is left: ${failure.message}`, EXIT.failed);
    phase = 'draining';
    const { drain: deadline } = config.current;
    log.info({ deadline }, 'draining');
    if (await primary.pool.stop(deadline)) log.info({}, 'stopped');
    else log.warn({ deadline }, 'stopped: workers that did not end after the deadline were killed');
    return EXIT.ok;
  } finally {
    config.close();
    for (const close of closers) await close();
    sink.close();
  }
}

async function startOrExplain({ pool }: Primary): Promise<void> {
  try {
    await pool.start();
  } catch (error) {
    throw new CliError((error as Error).message, EXIT.failed);
  }
}

/** The operators' listener over what all workers do, and over what is kept here. */
function openOperatorListener(
  config: ConfigWatch,
  primary: Primary,
  context: Pick<Parameters<typeof createOperatorListener>[1], 'audit' | 'log' | 'phase' | 'reloaded'>,
): OperatorListener | undefined {
  const { log } = context;
  const { store, sessions, figures } = primary;
  return createOperatorListener(config, {
    ...context,
    log: {
      ...log,
      setLevel(level) {
        log.setLevel(level);
        primary.setLogLevel(level);
      },
    },
    store: {
      get: (key) => store.get(key),
      get ready() {
        return store.ready && figures.storeReady;
      },
      get nearCache() {
        return usesNearCache(config.current) ? figures.nearCache : undefined;
      },
    },
    sessions: {
      list: (owner) => sessions.list(owner),
      count: (owner) => sessions.count(owner),
      end: (key) => sessions.end(key),
      endAll: (owner) => sessions.endAll(owner),
      get totals() {
        const { created, ended } = sessions.totals;
        return { created: created + figures.sessions.created, ended: ended + figures.sessions.ended };
      },
    },
    bodies: {
      get memory() {
        return figures.bodies.memory;
      },
      get disk() {
        return figures.bodies.disk;
      },
    },
    streams: {
      get count() {
        return figures.streams;
      },
    },
    endpoints: { describe: (origin) => figures.describeEndpoint(origin) },
    statistics: figures.statistics,
    requests: figures.requests,
    workers: () => figures.workers,
  });
}

function usesNearCache({ sessions }: Snapshot): boolean {
  return sessions.store.reveal() !== 'memory' && sessions.nearCache.entries > 0;
}

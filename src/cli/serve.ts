import { parseArgs } from 'node:util';
import { ConfigError, formatFault } from '../config/fault.ts';
import { ConfigWatch } from '../config/watch.ts';
import { createEdgeServer, type EdgeServer } from '../edge/server.ts';
import { createGateway } from '../gateway.ts';
import type { Gateway } from '../gateway-contract.ts';
import { openAttempts } from '../login/open-attempts.ts';
import { keypairTrail } from '../observe/keypair-event.ts';
import { createLog, type Log } from '../observe/log.ts';
import { withObservers } from '../observe/observers.ts';
import { RequestMetrics } from '../observe/request-metrics.ts';
import { Statistics } from '../observe/statistics.ts';
import {
  drain,
  onReloadSignal,
  onReplaceSignal,
  onStopSignal,
  type Phase,
  STORE_PATIENCE,
  untilReady,
} from '../process/lifecycle.ts';
import { openStore } from '../session/open-store.ts';
import { RemovedTenants } from '../session/removed-tenants.ts';
import { CliError, type Command, DEFAULT_FILE, EXIT, type Terminal } from './command.ts';
import { createOperatorListener } from './operator-listener.ts';
import { recordReload } from './reload-log.ts';
import { serveWithWorkers } from './serve-workers.ts';
import {
  listenForOperators,
  listenOrExplain,
  openAuditOrExplain,
  originsOf,
  startReferenceService,
} from './starting.ts';

export const serveCommand: Command = {
  name: 'serve',
  summary: 'run the gateway',
  help: `Usage: countersign serve [FILE]

Runs the gateway with the configuration in FILE (default: ${DEFAULT_FILE}).
The request log goes to stdout, one JSON line per request. SIGTERM and SIGINT stop
accepting, let requests in flight finish (config key: drain) and exit 0.
SIGHUP, and a change of FILE or of a users, secret or certificate file it names,
reload the configuration; one with faults is logged and changes nothing.
With several workers (config key: workers) SIGUSR2 replaces them one by one, without
a failed request; one that crashes is replaced by itself.

Options:
  --help   this text

Examples:
  countersign serve config/demo.yaml      gateway, reference Service and demo page in one process
  countersign serve /etc/countersign/countersign.yaml

Exit codes: 0 stopped by a signal, 1 a port is in use or no worker starts, 2 the configuration has faults.
`,
  async run(args, terminal) {
    const { positionals } = parseArgs({ args: [...args], allowPositionals: true, options: {} });
    if (positionals.length > 1) throw new CliError('serve takes one FILE at most');
    const config = load(positionals[0] ?? DEFAULT_FILE, terminal);
    return config.current.workers === 1 ? serve(config, terminal) : serveWithWorkers(config, terminal);
  },
};

function load(file: string, terminal: Terminal): ConfigWatch {
  try {
    return new ConfigWatch(file, { env: terminal.env });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const count = error.faults.length;
    throw new CliError(`${error.message}\n${count} fault${count === 1 ? '' : 's'} in the configuration`, EXIT.usage);
  }
}

async function serve(config: ConfigWatch, terminal: Terminal): Promise<number> {
  const snapshot = config.current;
  const observers = { statistics: new Statistics(), requests: new RequestMetrics() };
  const plainLog = createLog(snapshot.logLevel);
  const log = config.operator ? withObservers(plainLog, Object.values(observers)) : plainLog;
  for (const warning of config.lastReload.warnings) {
    log.warn({ path: warning.path, line: warning.line }, formatFault(warning));
  }
  const audit = openAuditOrExplain(snapshot, log);
  config.onReload((result) => recordReload(log, audit, result));
  onReloadSignal(() => {
    audit.reopen();
    void config.reload('SIGHUP');
  });
  onReplaceSignal(() => log.warn({}, 'SIGUSR2 replaces workers: with one process there is none to replace'));

  const service = config.service && (await startReferenceService(config.service));
  const storeUrl = snapshot.sessions.store.reveal();
  const onError = (error: Error) => log.error({ err: error }, 'the session store is out of reach');
  const { failedLogins } = snapshot.limits;
  const { sealKeys, nearCache } = snapshot.sessions;
  const onBypass = (error: Error) => log.warn({ err: error }, 'the near cache is bypassed: each request asks Redis');
  const store = openStore(storeUrl, { clock: Date.now, sealKeys, onError, nearCache, onBypass });
  const attempts = openAttempts(storeUrl, { limits: failedLogins, onError });
  const gateway = createGateway({
    snapshot: () => config.current,
    store,
    attempts,
    log,
    audit,
    onKeypair: keypairTrail(audit),
  });
  const server = createEdgeServer(snapshot.listen, gateway);
  config.onReload(() => {
    const { tls } = config.current.listen;
    if (tls !== undefined) server.setCertificates?.(tls);
  });
  const removedTenants = new RemovedTenants(gateway.insides.streams);
  config.onReload(({ added, removed }) => {
    removedTenants.add(added);
    removedTenants.remove(removed, config.current.drain);
  });
  let phase: Phase = 'starting';
  const operator =
    config.operator &&
    createOperatorListener(config, { ...gateway.insides, ...observers, phase: () => phase, store, log, audit });
  const close = async () => {
    config.close();
    await gateway.close();
    await operator?.close();
    await Promise.all([store.close(), attempts.close(), service?.close()]);
    await audit.close();
  };

  // A first visitor who came before the connection to Redis would be sent away for nothing.
  if (!(await untilReady(() => store.ready, STORE_PATIENCE))) {
    log.warn({}, 'the session store does not answer: requests that need a session get 503 until it does');
  }
  let port: number;
  try {
    if (operator) await listenForOperators(operator, terminal);
    port = await listenOrExplain(server, snapshot.listen.port, snapshot.listen.host);
  } catch (error) {
    await close();
    log.flush();
    throw error;
  }
  phase = 'ready';
  log.info({ host: snapshot.listen.host, port, tenants: snapshot.tenants.map(({ name }) => name) }, 'ready');
  terminal.stderr.write(`countersign is ready: ${originsOf(snapshot.tenants)}\n`);

  await new Promise<void>((resolve) => onStopSignal(resolve));
  phase = 'draining';
  await stop(server, gateway, config.current.drain, log);
  await close();
  log.flush();
  return EXIT.ok;
}

async function stop(server: EdgeServer, gateway: Gateway, deadline: number, log: Log): Promise<void> {
  log.info({ deadline }, 'draining');
  gateway.drain();
  const finished = await drain(server, deadline, () => void gateway.close());
  if (finished) log.info({}, 'stopped');
  else log.warn({ deadline }, 'stopped: requests still in flight at the deadline were cut off');
}

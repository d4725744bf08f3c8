import { createServer, type Server } from 'node:http';
import { type AddressInfo, isIPv6 } from 'node:net';
import { DIALECTS, type Dialect } from '../signing/dialect.ts';
import { Authenticator } from './authenticate.ts';
import { Door } from './door.ts';
import { graphqlRoutes } from './graphql/endpoint.ts';
import { Groups } from './graphql/groups.ts';
import { Kernels } from './kernel.ts';
import { kernelRoutes } from './kernel-routes.ts';
import { Keyring, type ServiceKeypair } from './keyring.ts';
import { Listener } from './listener.ts';
import { openPty, ptyRoutes } from './pty.ts';
import { RateLimiter } from './rate-limit.ts';
import type { Routes } from './router.ts';
import { type ApiVersion, parseVersion } from './version.ts';
import { versionRoutes } from './version-route.ts';
import { Vfolders } from './vfolder.ts';
import { vfolderRoutes } from './vfolder-routes.ts';
import { asksForWebSocket } from './websocket/handshake.ts';

export type { ServiceKeypair } from './keyring.ts';

export interface ServiceOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly keypairs: readonly ServiceKeypair[];
  /** Default `DIALECTS.service`. */
  readonly dialect?: Dialect;
  /** The latest API version, `vX.yyyymmdd`; default `v4.20190315`. */
  readonly version?: string;
  /** What problem types begin with, without a trailing slash. */
  readonly problemBase?: string;
  /** At most `requests` in any `window` milliseconds for each access key; default 30000 in 15 minutes. */
  readonly rateLimit?: { readonly requests: number; readonly window: number };
  /** Largest request body in bytes; default 16 MiB. */
  readonly maxBody?: number;
  /** Epoch milliseconds. */
  readonly clock?: () => number;
}

export interface RunningService {
  /** `http://127.0.0.1:8081`. */
  readonly origin: string;
  readonly port: number;
  /** Stops listening, ends streams and WebSockets, lets running requests finish for up to 2 s. */
  close(): Promise<void>;
}

const DEFAULT_VERSION = 'v4.20190315';
const DEFAULT_PROBLEM_BASE = 'https://problems.service.example';
const DEFAULT_RATE_LIMIT = { requests: 30_000, window: 15 * 60_000 };
const DEFAULT_MAX_BODY = 16 * 1024 * 1024;
const CLOSE_TIMEOUT = 2_000;

const HTTP_LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 5_000,
  /** Longer than common clients keep idle connections, so that none is closed under a request. */
  keepAliveTimeout: 75_000,
  maxHeaderSize: 16 * 1024,
  /** TCP's own probes find WebSocket and event-stream peers that vanished. */
  keepAlive: true,
  keepAliveInitialDelay: 30_000,
  /** A missing Host is answered by the Service itself, as a problem. */
  requireHostHeader: false,
} as const;

/** Starts a Service with a state of its own. Rejects with the error of `listen`, such as EADDRINUSE, as it is. */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const clock = options.clock ?? Date.now;
  const version = options.version ?? DEFAULT_VERSION;
  const latest = parseVersion(version);
  if (latest === undefined) throw new TypeError(`version must have the shape vX.yyyymmdd, not ${version}`);
  const rateLimit = options.rateLimit ?? DEFAULT_RATE_LIMIT;
  const keyring = new Keyring(rateLimit.requests);
  for (const keypair of options.keypairs) keyring.add(keypair, clock());
  const kernels = new Kernels();

  const listener = new Listener({
    door: createDoor(options.dialect ?? DIALECTS.service, keyring, new RateLimiter(rateLimit), latest, clock),
    routes: createRoutes(version, keyring, kernels, clock),
    openWebSocket: (call, upgrade) => openPty(call, kernels, keyring, upgrade),
    problemBase: options.problemBase ?? DEFAULT_PROBLEM_BASE,
    maxBody: options.maxBody ?? DEFAULT_MAX_BODY,
    clock,
  });
  const server = serverOf(listener);
  await listen(server, options.host, options.port);
  const { port } = server.address() as AddressInfo;
  const authority = `${isIPv6(options.host) ? `[${options.host}]` : options.host}:${port}`;
  return { origin: `http://${authority}`, port, close: () => close(server, kernels) };
}

function createDoor(
  dialect: Dialect,
  keyring: Keyring,
  limiter: RateLimiter,
  latest: ApiVersion,
  clock: () => number,
): Door {
  return new Door(new Authenticator(dialect, keyring), limiter, latest, clock);
}

function createRoutes(version: string, keyring: Keyring, kernels: Kernels, clock: () => number): Routes {
  const vfolders = new Vfolders();
  const onKeypairRemoved = (accessKey: string) => {
    kernels.removeScope(accessKey);
    vfolders.removeScope(accessKey);
  };
  return [
    ...versionRoutes(version),
    ...kernelRoutes(kernels, keyring, clock),
    ...vfolderRoutes(vfolders, keyring, clock),
    ...graphqlRoutes({ groups: new Groups(), keyring, clock, onKeypairRemoved }),
    ...ptyRoutes,
  ];
}

function serverOf(listener: Listener): Server {
  const server = createServer({ ...HTTP_LIMITS, shouldUpgradeCallback: asksForWebSocket });
  const onRequest = listener.onRequest.bind(listener);
  server.on('request', onRequest);
  // An expectation this server does not know is ignored (RFC 9110 §10.1.1).
  server.on('checkExpectation', onRequest);
  server.on('upgrade', listener.onUpgrade.bind(listener));
  server.on('connect', listener.onConnect.bind(listener));
  server.on('clientError', listener.onClientError.bind(listener));
  return server;
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function close(server: Server, kernels: Kernels): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    kernels.shutdown();
    server.closeIdleConnections();
  });
}

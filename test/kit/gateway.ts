import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { loadConfig } from '../../src/config/load.ts';
import { createEdgeServer, type EdgeServer } from '../../src/edge/server.ts';
import { createGateway } from '../../src/gateway.ts';
import { openAttempts } from '../../src/login/open-attempts.ts';
import { createAudit } from '../../src/observe/audit.ts';
import { auditLineSchema } from '../../src/observe/audit-event.ts';
import { keypairTrail } from '../../src/observe/keypair-event.ts';
import { createLog } from '../../src/observe/log.ts';
import { withObservers } from '../../src/observe/observers.ts';
import { openStore } from '../../src/session/open-store.ts';
import type { SessionStore } from '../../src/session/store.ts';
import { HTTP, ORIGIN } from './front-end.ts';
import { newObservers, type Watched } from './operator.ts';
import { type StrictUpstream, type StrictUpstreamOptions, startStrictUpstream } from './strict-upstream.ts';
import { BACKEND_AI, SERVICE } from './verify-signature.ts';

export interface TestGateway {
  readonly port: number;
  readonly server: EdgeServer;
  /** What the gateway logged, one JSON line each. */
  readonly log: readonly string[];
  /** What an operators' listener can be built on. */
  readonly watched: Watched;
  /** Lines of the audit log. */
  readonly audit: readonly string[];
  /** Throws when a line of the audit log is not as its schema says. */
  close(): Promise<void>;
}

export interface StartOptions extends Pick<StrictUpstreamOptions, 'respond' | 'respondEarly' | 'tls' | 'tellsTime'> {
  /** `listener`: the gateway's own. `hono`: its app, mounted in a Hono server of somebody else's. */
  readonly door?: 'listener' | 'hono';
  readonly dialect?: 'service' | 'backend.ai';
  readonly clock?: () => number;
  /** The upstream's, where it is not the gateway's. */
  readonly upstreamClock?: () => number;
  /** A free one when left out. */
  readonly port?: number;
  /** Puts something between the gateway and its sessions in memory. */
  readonly store?: (sound: SessionStore) => SessionStore;
  /** Keys of the configuration that replace those below. */
  readonly listen?: object;
  readonly limits?: object;
  readonly audit?: object;
  readonly bodies?: object;
  readonly login?: object;
  readonly upstream?: object;
  readonly route?: object;
  /** Of the visitor's role. */
  readonly keypairs?: object;
  /** What the upstream accepts in place of `KEYPAIR`. */
  readonly serviceKeys?: StrictUpstreamOptions['keypairs'];
  /** Keys of the tenant that replace those below. */
  readonly tenant?: object;
  /** Tenants beside the one above, on the same upstream. */
  readonly others?: Readonly<Record<string, { readonly origin: string; readonly keypair: typeof KEYPAIR }>>;
}

export const KEYPAIR = { accessKey: 'AKIAVISITOR', secretKey: 'visitor-secret' };
/** A media type the gateway has no reason to look into: where the dialect hashes no body, it is streamed straight through. */
export const OPAQUE = 'application/octet-stream';
/** The ways into the gateway. Mounted in somebody else's server it is reached over plain HTTP/1.1. */
export const DOORS = HTTP === 'HTTP/1.1' ? (['listener', 'hono'] as const) : (['listener'] as const);
const pathOf = (name: string) => fileURLToPath(new URL(`tls/${name}`, import.meta.url));
/** For 127.0.0.1 and localhost, signed by itself. */
export const KIT_TLS = { certificates: [{ cert: pathOf('loopback.pem'), key: { file: pathOf('loopback.key') } }] };
const UNLIMITED = { requests: 10_000_000, per: '1m' };

/** A strict upstream and a gateway in front of it, as one tenant, with everything but the sockets in this process. */
export async function startGateway(
  options: StartOptions = {},
): Promise<{ upstream: StrictUpstream; gateway: TestGateway }> {
  const { dialect = 'service', clock = Date.now } = options;
  const upstream = await startStrictUpstream({
    keypairs:
      options.serviceKeys ??
      Object.fromEntries(
        [KEYPAIR, ...Object.values(options.others ?? {}).map(({ keypair }) => keypair)].map((pair) => [
          pair.accessKey,
          pair.secretKey,
        ]),
      ),
    brand: dialect === 'service' ? SERVICE : BACKEND_AI,
    clock: options.upstreamClock ?? clock,
    ...(options.tellsTime && { tellsTime: true }),
    ...(options.respond && { respond: options.respond }),
    ...(options.respondEarly && { respondEarly: options.respondEarly }),
    ...(options.tls && { tls: options.tls }),
  });
  try {
    return { upstream, gateway: await startGatewayTo(upstream.origin, options) };
  } catch (error) {
    await upstream.close();
    throw error;
  }
}

/** The same gateway in front of another upstream, of which `options` says nothing. */
export function startGatewayTo(endpoint: string, options: StartOptions = {}): Promise<TestGateway> {
  const { dialect = 'service', clock = Date.now } = options;
  return serveConfig(configOf(endpoint, dialect, options), clock, options);
}

function configOf(endpoint: string, dialect: string, options: StartOptions): object {
  const tenant = (origin: string, keypair: object) => ({
    origins: [origin],
    upstream: { endpoints: [endpoint], version: 'v4.20190315', dialect, ...options.upstream },
    keypairs: { visitor: keypair },
    login: { visitor: { role: 'visitor' }, ...options.login },
    routes: [{ path: '/v2', roles: ['visitor'], contentTypes: ['application/json', OPAQUE], ...options.route }],
    ...options.tenant,
  });
  const others = Object.entries(options.others ?? {}).map(([name, { origin, keypair }]) => [
    name,
    tenant(origin, keypair),
  ]);
  return {
    listen: { port: 0, ...(HTTP !== 'HTTP/1.1' && { tls: KIT_TLS }), ...options.listen },
    limits: { address: UNLIMITED, session: UNLIMITED, sessionCreation: UNLIMITED, ...options.limits },
    audit: { file: 'stdout', ...options.audit },
    bodies: options.bodies ?? {},
    tenants: { acme: tenant(ORIGIN, options.keypairs ?? KEYPAIR), ...Object.fromEntries(others) },
  };
}

async function serveConfig(
  config: object,
  clock: () => number,
  { door = 'listener', port = 0, store: wrapped = (sound) => sound }: StartOptions,
): Promise<TestGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-config-'));
  const file = join(folder, 'config.yaml');
  writeFileSync(file, JSON.stringify(config));
  let snapshot: ReturnType<typeof loadConfig>['snapshot'];
  try {
    ({ snapshot } = loadConfig(file));
  } finally {
    rmSync(folder, { recursive: true });
  }
  const lines: string[] = [];
  const observers = newObservers();
  const plainLog = createLog('info', { write: (line: string) => void lines.push(line) });
  const log = withObservers(plainLog, Object.values(observers));
  const audited: string[] = [];
  const audit = createAudit(
    {
      write: (line) => void audited.push(line),
      reopen: () => undefined,
      flush: async () => undefined,
      close: async () => undefined,
    },
    { refusals: snapshot.audit?.refusals ?? { requests: 60, window: 60_000 }, clock },
  );
  const store = wrapped(openStore('memory', { clock, sealKeys: [] }));
  const attempts = openAttempts('memory', { limits: snapshot.limits.failedLogins });
  const gateway = createGateway({
    snapshot: () => snapshot,
    store,
    attempts,
    log,
    audit,
    onKeypair: keypairTrail(audit),
    clock,
  });
  const server =
    door === 'listener' ? createEdgeServer(snapshot.listen, gateway) : mounted(new Hono().route('/', gateway.app));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    server,
    log: lines,
    audit: audited,
    watched: { gateway, snapshot, store, log, observers },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await gateway.close();
      await closed;
      await store.close();
      await audit.close();
      for (const line of audited) auditLineSchema.parse(JSON.parse(line));
    },
  };
}

/** How an owner of a Hono server would serve an app that the gateway's is a part of. */
function mounted(app: Hono): EdgeServer {
  return createAdaptorServer({ fetch: app.fetch, createServer, overrideGlobalObjects: false }) as EdgeServer;
}

import { availableParallelism } from 'node:os';
import { dirname, resolve } from 'node:path';
import { Secret } from '../secret.ts';
import type { DialectName } from '../signing/dialect.ts';
import type { OperatorSettings, Site, Snapshot } from '../snapshot.ts';
import { hostsOf, type Lifetime, type Tenant } from '../tenant.ts';
import { buildBodies } from './bodies.ts';
import { CertificateReader } from './certificates.ts';
import { readYaml, UnreadableError, type YamlDocument } from './document.ts';
import { ConfigError, type Fault } from './fault.ts';
import { type FixedSetting, fixedSettings } from './fixed-settings.ts';
import { Keypairs } from './keypairs.ts';
import { buildListen, uncoveredOrigins } from './listen.ts';
import { buildOperator } from './operator.ts';
import { type Config, configSchema } from './schema.ts';
import { tenantSchema } from './schema-tenant.ts';
import { type Environment, SecretReader } from './secrets.ts';
import { buildTenant, type TenantContext } from './tenants.ts';
import { validate } from './validate.ts';
import { findWarnings } from './warnings.ts';

/** The reference Service of a configuration's `service:` block, resolved. Durations in milliseconds. */
export interface ServiceSettings {
  readonly host: string;
  readonly port: number;
  readonly version: string;
  readonly dialect: DialectName;
  readonly rateLimit: { readonly requests: number; readonly window: number };
  readonly keypairs: readonly { readonly accessKey: string; readonly secretKey: Secret; readonly isAdmin: boolean }[];
}

export interface ResolvedConfig {
  readonly snapshot: Snapshot;
  readonly service: ServiceSettings | undefined;
  readonly operator: OperatorSettings | undefined;
  /** Settings that only a restart can change. */
  readonly fixed: readonly FixedSetting[];
  readonly keypairs: Keypairs;
}

export interface LoadedConfig extends ResolvedConfig {
  readonly warnings: readonly Fault[];
}

/** What came of reading a configuration file, sound or not. */
export interface ConfigReading {
  /** Absolute: the file itself, then every users, secret and certificate file it names. */
  readonly sources: readonly string[];
  /** In the order of the files; a configuration with any is not there. */
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
  /** The file could not be read at all. */
  readonly unreadable: boolean;
  readonly config: ResolvedConfig | undefined;
}

/**
 * Reads, validates and resolves a configuration file: shape, meaning, secrets and users files. Throws `ConfigError` with
 * every fault at once. Relative paths in it are relative to its own folder.
 */
export function loadConfig(file: string, env: Environment = process.env): LoadedConfig {
  const { config, faults, warnings } = readConfig(file, env);
  if (config === undefined) throw new ConfigError(faults);
  return { ...config, warnings };
}

/** The same without throwing. Keypairs that `previous` had too stay the same objects. */
export function readConfig(file: string, env: Environment = process.env, previous?: Keypairs): ConfigReading {
  const folder = dirname(resolve(file));
  const sources = new Set([resolve(file)]);
  const faults: Fault[] = [];
  let document: YamlDocument;
  try {
    document = readYaml(file);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const unreadable = error instanceof UnreadableError;
    return { sources: [...sources], faults: error.faults, warnings: [], unreadable, config: undefined };
  }
  const secrets = new SecretReader(document, folder, env, faults);
  const certificates = new CertificateReader({ document, folder, secrets, sources, faults });
  const keypairs = new Keypairs(previous);
  const context = (lifetime: Lifetime): TenantContext => ({
    document,
    folder,
    secrets,
    certificates,
    keypairs,
    sources,
    lifetime,
    faults,
  });

  const result = validate(document, configSchema);
  faults.push(...result.faults);
  let config: ResolvedConfig | undefined;
  let warnings: Fault[] = [];
  if (result.value === undefined) {
    findFaultsOfMeaning(document, context({ idle: 1, absolute: 1 }));
  } else {
    const { sessions } = result.value;
    const lifetime = { idle: sessions.idle, absolute: sessions.absolute };
    config = { ...resolveConfig(result.value, secrets, document, context(lifetime)), keypairs };
    const { listen, tenants } = config.snapshot;
    warnings = [
      ...findWarnings(result.value, secrets.inline, document),
      ...certificates.warnings,
      ...(faults.length === 0 ? uncoveredOrigins(listen, tenants, document) : []),
    ];
  }
  return {
    sources: [...sources, ...secrets.files],
    faults: faults.toSorted(byPlace),
    warnings: warnings.toSorted(byPlace),
    unreadable: false,
    config: faults.length > 0 ? undefined : config,
  };
}

/** Turns a file of the right shape into what the gateway runs on. What is wrong with it goes to `context.faults`. */
function resolveConfig(
  config: Config,
  secrets: SecretReader,
  document: YamlDocument,
  context: TenantContext,
): Omit<ResolvedConfig, 'keypairs'> {
  const { lifetime, faults } = context;
  if (lifetime.idle > lifetime.absolute) {
    faults.push(document.fault(['sessions', 'idle'], 'idle is longer than absolute'));
  }
  const tenants = Object.entries(config.tenants).map(([name, tenant]) => buildTenant(name, tenant, context));
  const sites = buildSites(tenants, config, document, faults);
  const sessions = buildSessions(config, lifetime, secrets, document, faults);
  const service = buildService(config, secrets);
  const { certificates } = context;
  const operator = config.operator && buildOperator(config.operator, { secrets, certificates, document, faults });

  const { failedLogins, ...limits } = config.limits;
  const rate = (limit: { requests: number; per: number }) => ({ requests: limit.requests, window: limit.per });
  return {
    snapshot: {
      listen: buildListen(config.listen, context),
      sessions,
      limits: {
        address: rate(limits.address),
        session: rate(limits.session),
        tenant: limits.tenant && rate(limits.tenant),
        sessionCreation: rate(limits.sessionCreation),
        failedLogins: { perUser: failedLogins.perUser, perAddress: failedLogins.perAddress, window: failedLogins.per },
      },
      bodies: buildBodies(config.bodies, context),
      drain: config.drain,
      workers: config.workers === 'auto' ? availableParallelism() : config.workers,
      logLevel: config.log.level,
      audit: config.audit && {
        file: /^std(?:out|err)$/.test(config.audit.file)
          ? config.audit.file
          : resolve(context.folder, config.audit.file),
        refusals: rate(config.audit.refusals),
      },
      sites,
      tenants,
    },
    service,
    operator,
    fixed: fixedSettings({ config, sessions, service, operator }, document),
  };
}

/** Even a file whose shape is wrong somewhere gets the faults of its tenants that are well-formed by themselves. */
function findFaultsOfMeaning(document: YamlDocument, context: TenantContext): void {
  const { tenants } = document.value as { tenants?: unknown };
  if (typeof tenants !== 'object' || tenants === null) return;
  for (const name of Object.keys(tenants)) {
    const tenant = validate(document, tenantSchema, ['tenants', name]).value;
    if (tenant !== undefined) buildTenant(name, tenant, context);
  }
}

function buildSites(
  tenants: readonly Tenant[],
  config: Config,
  document: YamlDocument,
  faults: Fault[],
): ReadonlyMap<string, Site> {
  const sites = new Map<string, Site>();
  for (const tenant of tenants) {
    for (const [i, origin] of (config.tenants[tenant.name]?.origins ?? []).entries()) {
      for (const host of hostsOf([origin])) {
        const other = sites.get(host);
        if (other === undefined) {
          sites.set(host, { tenant, origin });
        } else {
          const message = `${origin} answers for the Host ${host}, which ${other.origin} of tenant ${other.tenant.name} has already`;
          faults.push(document.fault(['tenants', tenant.name, 'origins', i], message));
          break;
        }
      }
    }
  }
  return sites;
}

function buildSessions(
  config: Config,
  lifetime: Lifetime,
  secrets: SecretReader,
  document: YamlDocument,
  faults: Fault[],
): Snapshot['sessions'] {
  const { store } = config.sessions;
  const url = typeof store === 'string' ? new Secret(store) : secrets.read(store, ['sessions', 'store']);
  if (url !== undefined && typeof store !== 'string' && !/^(?:memory|rediss?:\/\/\S+)$/.test(url.reveal())) {
    faults.push(document.fault(['sessions', 'store'], 'expected the secret to be a redis:// or rediss:// URL'));
  }
  const sealKeys = config.sessions.sealKeys.flatMap((source, i) => {
    const path = ['sessions', 'sealKeys', i];
    const key = secrets.read(source, path);
    if (key === undefined) return [];
    if (Buffer.from(key.reveal(), 'base64').length !== 32) {
      faults.push(document.fault(path, 'expected the base64 of 32 random bytes'));
    }
    return [key];
  });
  return { store: url ?? new Secret('memory'), lifetime, sealKeys, nearCache: config.sessions.nearCache };
}

function buildService(config: Config, secrets: SecretReader): ServiceSettings | undefined {
  const { service } = config;
  if (service === undefined) return undefined;
  return {
    host: service.host,
    port: service.port,
    version: service.version,
    dialect: service.dialect,
    rateLimit: { requests: service.rateLimit.requests, window: service.rateLimit.per },
    keypairs: service.keypairs.flatMap(({ accessKey, secretKey, admin }, i) => {
      const secret = secrets.read(secretKey, ['service', 'keypairs', i, 'secretKey']);
      return secret === undefined ? [] : [{ accessKey, secretKey: secret, isAdmin: admin }];
    }),
  };
}

function byPlace(a: Fault, b: Fault): number {
  return a.file.localeCompare(b.file) || a.line - b.line || a.column - b.column;
}

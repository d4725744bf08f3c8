import { dirname, resolve } from 'node:path';
import { Secret } from '../secret.ts';
import type { DialectName } from '../signing/dialect.ts';
import type { Site, Snapshot } from '../snapshot.ts';
import { hostsOf, type Lifetime, type Tenant } from '../tenant.ts';
import { readYaml, validate, type YamlDocument } from './document.ts';
import { ConfigError, type Fault } from './fault.ts';
import { type Config, configSchema } from './schema.ts';
import { tenantSchema } from './schema-tenant.ts';
import { type Environment, SecretReader } from './secrets.ts';
import { buildTenant, type TenantContext } from './tenants.ts';

/** The reference Service of a configuration's `service:` block, resolved. Durations in milliseconds. */
export interface ServiceSettings {
  readonly host: string;
  readonly port: number;
  readonly version: string;
  readonly dialect: DialectName;
  readonly rateLimit: { readonly requests: number; readonly window: number };
  readonly keypairs: readonly { readonly accessKey: string; readonly secretKey: Secret; readonly isAdmin: boolean }[];
}

export interface LoadedConfig {
  readonly snapshot: Snapshot;
  readonly service: ServiceSettings | undefined;
  readonly warnings: readonly Fault[];
}

/**
 * Reads, validates and resolves a configuration file: shape, meaning, secrets and users files. Throws `ConfigError` with
 * every fault at once. Relative paths in it are relative to its own folder.
 */
export function loadConfig(file: string, env: Environment = process.env): LoadedConfig {
  const document = readYaml(file);
  const folder = dirname(resolve(file));
  const faults: Fault[] = [];
  const secrets = new SecretReader(document, folder, env, faults);
  const context = (lifetime: Lifetime): TenantContext => ({ document, folder, secrets, lifetime, faults });

  const result = validate(document, configSchema);
  if (result.value === undefined) {
    faults.push(...result.faults);
    findFaultsOfMeaning(document, context({ idle: 1, absolute: 1 }));
    throw new ConfigError(faults.toSorted(byPlace));
  }
  const config = result.value;
  const lifetime = { idle: config.sessions.idle, absolute: config.sessions.absolute };
  if (lifetime.idle > lifetime.absolute) {
    faults.push(document.fault(['sessions', 'idle'], 'idle is longer than absolute'));
  }
  const tenants = Object.entries(config.tenants).map(([name, tenant]) => buildTenant(name, tenant, context(lifetime)));
  const sites = buildSites(tenants, config, document, faults);
  const sessions = buildSessions(config, lifetime, secrets, document, faults);
  const service = buildService(config, secrets);
  if (config.operator?.token !== undefined) secrets.read(config.operator.token, ['operator', 'token']);
  if (faults.length > 0) throw new ConfigError(faults.toSorted(byPlace));

  const { failedLogins, ...limits } = config.limits;
  const rate = (limit: { requests: number; per: number }) => ({ requests: limit.requests, window: limit.per });
  return {
    snapshot: {
      listen: config.listen,
      sessions,
      limits: {
        address: rate(limits.address),
        session: rate(limits.session),
        tenant: limits.tenant && rate(limits.tenant),
        sessionCreation: rate(limits.sessionCreation),
        failedLogins: { perUser: failedLogins.perUser, perAddress: failedLogins.perAddress, window: failedLogins.per },
      },
      drain: config.drain,
      logLevel: config.log.level,
      sites,
      tenants,
    },
    service,
    warnings: findWarnings(config, secrets, document),
  };
}

/** Even a file whose shape is wrong somewhere gets the faults of its tenants that are well-formed by themselves. */
function findFaultsOfMeaning(document: YamlDocument, context: TenantContext): void {
  const { tenants } = document.value as { tenants?: unknown };
  if (typeof tenants !== 'object' || tenants === null) return;
  for (const [name, section] of Object.entries(tenants)) {
    const tenant = tenantSchema.safeParse(section);
    if (tenant.success) buildTenant(name, tenant.data, context);
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
  return { store: url ?? new Secret('memory'), lifetime, sealKeys };
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

function findWarnings(config: Config, secrets: SecretReader, document: YamlDocument): Fault[] {
  const warnings: Fault[] = [];
  // The secrets of the reference Service are dummies, and so are those of the tenants that call it.
  if (config.service === undefined) {
    for (const path of secrets.inline) {
      warnings.push(document.fault(path, 'the secret stands in the file itself; use { env: NAME } or { file: path }'));
    }
  }
  if (config.operator !== undefined) {
    warnings.push(document.fault(['operator'], 'this version does not open the operator listener yet'));
  }
  return warnings;
}

function byPlace(a: Fault, b: Fault): number {
  return a.file.localeCompare(b.file) || a.line - b.line || a.column - b.column;
}

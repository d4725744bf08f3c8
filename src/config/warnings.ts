import { tmpdir } from 'node:os';
import { isLoopback } from '../process/loopback.ts';
import { hasTemporaryFolder } from './bodies.ts';
import type { YamlDocument } from './document.ts';
import type { Fault, PathSegment } from './fault.ts';
import type { Config } from './schema.ts';
import type { TenantConfig } from './schema-tenant.ts';

type Warn = (path: PathSegment[], message: string, hint: string) => void;

/** The group mutations of service-api.md §6, and what else is named like a mutation of an administrator. */
const ADMIN_MUTATION = /^(?:create|modify|update|delete|purge)_/;

/**
 * Settings that work and are dangerous. `inline` is where secrets stand in the file as plain text.
 */
export function findWarnings(config: Config, inline: readonly PathSegment[][], document: YamlDocument): Fault[] {
  const warnings: Fault[] = [];
  const warn: Warn = (path, message, hint) => warnings.push(document.fault(path, message, { hint }));
  const { store } = config.sessions;
  const storePath = typeof store === 'string' && URL.parse(store)?.password ? [['sessions', 'store']] : [];
  for (const path of [...inline, ...storePath]) {
    if (!isDummy(path, config)) {
      warn(path, 'the secret stands in the file itself', 'use { env: NAME } or { file: path }');
    }
  }
  warnOfOperator(config, warn);
  warnOfBodies(config, warn);
  for (const [name, tenant] of Object.entries(config.tenants)) {
    warnOfPlainHttp(name, tenant, warn);
    warnOfVisitor(name, tenant, config, warn);
  }
  return warnings;
}

/** The secrets of the reference Service are no secrets, nor are those of the tenants that call nothing else. */
function isDummy([section, name]: readonly PathSegment[], { service, tenants }: Config): boolean {
  if (service === undefined || section === 'service') return section === 'service';
  const endpoints = section === 'tenants' ? tenants[String(name)]?.upstream.endpoints : undefined;
  return endpoints?.every((endpoint) => isOwn(endpoint, service.port)) ?? false;
}

function isOwn(endpoint: string, servicePort: number): boolean {
  const { hostname, port } = new URL(endpoint);
  return isLoopback(hostname) && Number(port) === servicePort;
}

function warnOfOperator({ operator }: Config, warn: Warn): void {
  if (operator === undefined || isLoopback(operator.host)) return;
  const inTheClear = operator.tls === undefined ? ', and without tls its token crosses the network in the clear' : '';
  warn(
    ['operator', 'host'],
    `the operators’ listener is on ${operator.host}, where others than this machine may reach it${inTheClear}`,
    'listen on 127.0.0.1, or keep the port inside the cluster’s own network',
  );
}

function warnOfBodies({ bodies, tenants }: Config, warn: Warn): void {
  const hasDisk = bodies.disk > 0 && (bodies.folder !== undefined || hasTemporaryFolder());
  if (bodies.disk > 0 && !hasDisk) {
    const message = `${tmpdir()} cannot be written to: request bodies of any size are held in memory`;
    warn(['bodies', 'folder'], message, 'name a folder that can be written to, or set bodies.disk to 0B');
  }
  const most = Math.max(hasDisk ? bodies.disk : 0, bodies.memory);
  for (const [name, { routes }] of Object.entries(tenants)) {
    for (const [i, { maxBody }] of routes.entries()) {
      if (maxBody <= most) continue;
      const message = `bodies of this size never fit into what bodies.${hasDisk ? 'disk' : 'memory'} allows: they get 507`;
      warn(['tenants', name, 'routes', i, 'maxBody'], message, 'allow more there, or less here');
    }
  }
}

function warnOfPlainHttp(name: string, { origins, upstream }: TenantConfig, warn: Warn): void {
  for (const [i, origin] of origins.entries()) {
    if (isPlainAndRemote(origin)) {
      const message = `${origin} is plain http: the session cookie crosses the network unprotected and without __Host-`;
      warn(['tenants', name, 'origins', i], message, 'serve the front end over https');
    }
  }
  for (const [i, endpoint] of upstream.endpoints.entries()) {
    if (isPlainAndRemote(endpoint)) {
      const message = `${endpoint} is plain http: requests are signed, but anyone on the way can read them and forge answers`;
      warn(['tenants', name, 'upstream', 'endpoints', i], message, 'use the https endpoint');
    }
  }
}

function isPlainAndRemote(origin: string): boolean {
  const { protocol, hostname } = new URL(origin);
  return protocol === 'http:' && !isLoopback(hostname);
}

/**
 * A visitor is anybody. It must have no privilege of its own, and the keypair that signs for it none that it could reach:
 * a keypair is an administrator's when another role may use owner_access_key or administrators' mutations with it, or
 * when the reference Service is told that it is one.
 */
function warnOfVisitor(name: string, tenant: TenantConfig, config: Config, warn: Warn): void {
  const visitor = tenant.login.visitor?.role;
  if (visitor === undefined) return;
  for (const [index, route] of tenant.routes.entries()) {
    const at = ['tenants', name, 'routes', index];
    const owner = route.ownerAccessKey.indexOf(visitor);
    if (owner !== -1) {
      const message = `visitors (role "${visitor}") may use owner_access_key here: anyone could act for any user of the Service`;
      warn([...at, 'ownerAccessKey', owner], message, `take "${visitor}" out of ownerAccessKey`);
    }
    for (const [i, field] of (ownValue(route.graphql, visitor) ?? []).entries()) {
      if (!ADMIN_MUTATION.test(field)) continue;
      const message = `visitors (role "${visitor}") may use the GraphQL mutation ${field}`;
      warn([...at, 'graphql', visitor, i], message, `take ${field} out of graphql.${visitor}`);
    }
  }
  const owner = administratorOf(visitor, tenant, config);
  if (owner !== undefined) {
    const message = `visitors (role "${visitor}") are signed for with an administrator’s access key: it is ${owner}`;
    warn(['tenants', name, 'login', 'visitor', 'role'], message, 'give visitors a keypair of their own');
  }
}

/** Whose administrator keypair the visitors' is, in words; undefined when it is nobody's. */
function administratorOf(visitor: string, tenant: TenantConfig, config: Config): string | undefined {
  const keys = accessKeysOf(tenant, visitor);
  const role = Object.keys(tenant.keypairs).find(
    (other) =>
      other !== visitor && isPrivileged(other, tenant) && accessKeysOf(tenant, other).some((key) => keys.includes(key)),
  );
  if (role !== undefined) return `that of role "${role}"`;
  const isDemoAdmin = config.service?.keypairs.some(({ accessKey, admin }) => admin && keys.includes(accessKey));
  return isDemoAdmin ? 'an admin keypair of the reference Service' : undefined;
}

function isPrivileged(role: string, { routes }: TenantConfig): boolean {
  return routes.some(
    ({ ownerAccessKey, graphql }) =>
      ownerAccessKey.includes(role) || ownValue(graphql, role)?.some((field) => ADMIN_MUTATION.test(field)),
  );
}

function accessKeysOf({ keypairs }: TenantConfig, role: string): string[] {
  return [ownValue(keypairs, role) ?? []].flat().map(({ accessKey }) => accessKey);
}

/** A role may be called `constructor`. */
function ownValue<T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}

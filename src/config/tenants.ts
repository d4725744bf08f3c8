import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { KeypairRing } from '../keypair-ring.ts';
import { DEFAULT_PROBLEM_BASE } from '../problem.ts';
import { DIALECTS, type Dialect } from '../signing/dialect.ts';
import type { Lifetime, LoginSettings, Route, Tenant, User } from '../tenant.ts';
import { didYouMean } from './allowed-keys.ts';
import type { CertificateReader } from './certificates.ts';
import type { YamlDocument } from './document.ts';
import { readYaml } from './document.ts';
import { ConfigError, type Fault, type FaultDetails, type PathSegment } from './fault.ts';
import type { Keypairs } from './keypairs.ts';
import { buildRing } from './ring.ts';
import { type TenantConfig, usersSchema } from './schema-tenant.ts';
import type { SecretReader } from './secrets.ts';
import { buildUpstreamTls } from './upstream-tls.ts';
import { validate } from './validate.ts';

/** What turning one tenant's section into a Tenant needs and what it reports to. */
export interface TenantContext {
  readonly document: YamlDocument;
  /** Folder that relative paths are relative to. */
  readonly folder: string;
  readonly secrets: SecretReader;
  readonly certificates: CertificateReader;
  readonly keypairs: Keypairs;
  /** The files the configuration was read from besides itself: users files are added. */
  readonly sources: Set<string>;
  /** The lifetime of sessions whose login method sets none. */
  readonly lifetime: Lifetime;
  readonly faults: Fault[];
}

/** Builds a tenant from its validated section; every fault of meaning (not of shape) goes to `context.faults`. */
export function buildTenant(name: string, config: TenantConfig, context: TenantContext): Tenant {
  const at = ['tenants', name];
  const keypairs = new Map<string, KeypairRing>();
  for (const [role, section] of Object.entries(config.keypairs)) {
    keypairs.set(role, buildRing(name, section, [...at, 'keypairs', role], context));
  }
  const dialect = resolveDialect(config.upstream.dialect);
  checkPassHeaders(config, dialect, at, context);
  checkRoles(config, at, context);
  checkRoutes(config, at, context);
  const { upstream } = config;
  return {
    name,
    origins: new Set(config.origins),
    upstream: {
      endpoints: upstream.endpoints,
      version: upstream.version,
      dialect,
      problemBase: upstream.problemBase ?? DEFAULT_PROBLEM_BASE,
      mount: upstream.mount ?? '',
      signedHost: upstream.signedHost,
      passHeaders: new Set(upstream.passHeaders),
      passSetCookie: upstream.passSetCookie,
      timeouts: upstream.timeouts,
      connections: upstream.connections,
      breaker: upstream.breaker,
      retries: upstream.retries,
      health: upstream.health,
      followClock: upstream.followClock,
      tls: buildUpstreamTls(upstream, [...at, 'upstream', 'tls'], context),
    },
    keypairs,
    login: buildLogin(config, at, context),
    routes: config.routes.map(buildRoute).toSorted((a, b) => b.path.length - a.path.length),
    site: config.site === undefined ? undefined : checkFolder(config.site, [...at, 'site'], context),
    siteHeaders: Object.entries(config.siteHeaders),
  };
}

function resolveDialect(dialect: TenantConfig['upstream']['dialect']): Dialect {
  if (typeof dialect === 'string') return DIALECTS[dialect];
  const { preset, ...changes } = dialect;
  const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
  return { ...DIALECTS[preset], ...given };
}

function buildRoute(route: TenantConfig['routes'][number]): Route {
  return {
    path: route.path,
    methods: new Set(route.methods),
    roles: new Set(route.roles),
    contentTypes: new Set(route.contentTypes),
    maxBody: route.maxBody,
    encodedSlashes: route.encodedSlashes === 'allow',
    safeReport: route.safeReport,
    ownerAccessKey: new Set(route.ownerAccessKey),
    graphql:
      route.graphql === undefined
        ? undefined
        : {
            fields: new Map(Object.entries(route.graphql).map(([role, fields]) => [role, new Set(fields)])),
            maxDepth: route.graphqlLimits.depth,
            maxTokens: route.graphqlLimits.tokens,
          },
  };
}

/** The Service's own headers are the gateway's to write; its Client-Token passes anyway. */
function checkPassHeaders(
  config: TenantConfig,
  dialect: Dialect,
  at: readonly PathSegment[],
  { document, faults }: TenantContext,
): void {
  for (const [i, name] of config.upstream.passHeaders.entries()) {
    if (!name.startsWith(dialect.headerPrefix.toLowerCase())) continue;
    const path = [...at, 'upstream', 'passHeaders', i];
    faults.push(
      document.fault(
        path,
        `headers that begin with ${dialect.headerPrefix} are the gateway’s own and can never be passed`,
      ),
    );
  }
}

function checkRoles(config: TenantConfig, at: readonly PathSegment[], { document, faults }: TenantContext): void {
  const expectKeypair = (role: string, path: PathSegment[]) => {
    if (Object.hasOwn(config.keypairs, role)) return;
    faults.push(
      document.fault([...at, ...path], `role "${role}" has no keypair under keypairs`, hintFor(role, config)),
    );
  };
  if (config.login.visitor) expectKeypair(config.login.visitor.role, ['login', 'visitor', 'role']);
  for (const [index, route] of config.routes.entries()) {
    for (const [i, role] of route.roles.entries()) expectKeypair(role, ['routes', index, 'roles', i]);
    const expectRouteRole = (role: string, path: PathSegment[]) => {
      if (route.roles.includes(role)) return;
      faults.push(document.fault([...at, 'routes', index, ...path], `role "${role}" is not among the route's roles`));
    };
    for (const role of Object.keys(route.graphql ?? {})) expectRouteRole(role, ['graphql', role]);
    for (const [i, role] of route.ownerAccessKey.entries()) expectRouteRole(role, ['ownerAccessKey', i]);
  }
}

/** Names the role that was probably meant. */
function hintFor(role: string, config: TenantConfig): FaultDetails {
  const roles = Object.keys(config.keypairs);
  const meant = didYouMean(role, roles);
  return {
    ...(roles.length > 0 && { expected: `one of ${roles.join(', ')}` }),
    ...(meant !== undefined && { hint: `did you mean "${meant}"?` }),
  };
}

function checkRoutes(config: TenantConfig, at: readonly PathSegment[], { document, faults }: TenantContext): void {
  const taken = new Map<string, number>();
  for (const [index, route] of config.routes.entries()) {
    const edgePath = `${config.upstream.mount ?? ''}${route.path}`;
    if (edgePath === '/-' || edgePath.startsWith('/-/')) {
      faults.push(document.fault([...at, 'routes', index, 'path'], 'paths below /-/ are the gateway’s own'));
    }
    for (const method of route.methods) {
      const other = taken.get(`${method} ${route.path}`);
      if (other === undefined) {
        taken.set(`${method} ${route.path}`, index);
        continue;
      }
      faults.push(
        document.fault([...at, 'routes', index, 'path'], `${method} ${route.path} is already routes[${other}]`),
      );
      break;
    }
  }
}

function buildLogin(config: TenantConfig, at: readonly PathSegment[], context: TenantContext): LoginSettings {
  const { visitor, password } = config.login;
  const { document, faults, lifetime } = context;
  if (visitor === undefined && password === undefined) {
    faults.push(document.fault([...at, 'login'], 'no login method: nobody could sign in'));
  }
  const checked = (life: Lifetime, path: PathSegment[]): Lifetime => {
    if (life.idle > life.absolute) {
      faults.push(document.fault([...at, ...path], 'idle is longer than absolute'));
    }
    return life;
  };
  return {
    ...(visitor && {
      visitor: {
        role: visitor.role,
        lifetime: checked({ idle: visitor.idle, absolute: visitor.absolute }, ['login', 'visitor', 'idle']),
      },
    }),
    ...(password && {
      password: {
        users: buildUsers(password.users, config, [...at, 'login', 'password', 'users'], context),
        lifetime: checked({ idle: password.idle ?? lifetime.idle, absolute: password.absolute ?? lifetime.absolute }, [
          'login',
          'password',
          'idle',
        ]),
      },
    }),
  };
}

type UsersConfig = NonNullable<TenantConfig['login']['password']>['users'];

function buildUsers(
  users: UsersConfig,
  config: TenantConfig,
  at: readonly PathSegment[],
  context: TenantContext,
): ReadonlyMap<string, User> {
  let document = context.document;
  let base = at;
  let entries: Exclude<UsersConfig, string> = {};
  if (typeof users === 'string') {
    const file = resolve(context.folder, users);
    context.sources.add(file);
    try {
      document = readYaml(file);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      context.faults.push(
        ...error.faults.map((fault) =>
          fault.line > 0 ? fault : context.document.fault(at, `users file ${file}: ${fault.message}`),
        ),
      );
      return new Map();
    }
    base = [];
    const result = validate(document, usersSchema);
    context.faults.push(...result.faults);
    entries = result.value ?? {};
  } else {
    entries = users;
  }
  return new Map(
    Object.entries(entries).map(([name, { password, roles }]) => {
      for (const [i, role] of roles.entries()) {
        if (Object.hasOwn(config.keypairs, role)) continue;
        context.faults.push(
          document.fault(
            [...base, name, 'roles', i],
            `role "${role}" has no keypair under keypairs`,
            hintFor(role, config),
          ),
        );
      }
      return [name, { name, passwordHash: password, roles }];
    }),
  );
}

function checkFolder(folder: string, path: readonly PathSegment[], context: TenantContext): string {
  const absolute = resolve(context.folder, folder);
  if (!statSync(absolute, { throwIfNoEntry: false })?.isDirectory()) {
    context.faults.push(context.document.fault(path, `no such folder: ${absolute}`));
  }
  return absolute;
}

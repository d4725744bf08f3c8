import type { BodyPlan, Inbound } from '../../src/exchange.ts';
import { KeypairRing } from '../../src/keypair-ring.ts';
import { Problem, type ProblemCode } from '../../src/problem.ts';
import { Secret } from '../../src/secret.ts';
import type { Session } from '../../src/session/session.ts';
import { DIALECTS } from '../../src/signing/dialect.ts';
import { Keypair, type Route, type Tenant } from '../../src/tenant.ts';

export function route(path: string, overrides: Partial<Route> = {}): Route {
  return {
    path,
    methods: new Set(['GET', 'HEAD', 'REPORT', 'POST', 'PUT', 'PATCH', 'DELETE']),
    roles: new Set(['visitor', 'admin']),
    contentTypes: new Set(['application/json']),
    maxBody: 1024 * 1024,
    encodedSlashes: false,
    safeReport: false,
    ownerAccessKey: new Set(),
    graphql: undefined,
    ...overrides,
  };
}

/** A tenant with a keypair each for visitor and admin, its routes in the order the configuration brings them into. */
export function tenant(...routes: Route[]): Tenant {
  return {
    name: 'acme',
    origins: new Set(['https://console.acme.example']),
    upstream: {
      endpoints: ['https://api.service.example'],
      version: 'v4.20190315',
      dialect: DIALECTS.service,
      problemBase: 'https://problems.acme.example',
      mount: '',
      signedHost: undefined,
      passHeaders: new Set(),
      passSetCookie: false,
      timeouts: { connect: 1000, headers: 1000, idle: 1000 },
      connections: 1,
      breaker: { failures: 5, ratio: 0.5, volume: 20, open: 1000, longestOpen: 30_000 },
      retries: { ratio: 0.2, minimum: 10 },
      health: undefined,
      followClock: true,
      tls: undefined,
    },
    keypairs: new Map([
      ['visitor', KeypairRing.of(new Keypair('AKIAVISITOR', new Secret('visitor-secret')))],
      ['admin', KeypairRing.of(new Keypair('AKIAADMIN', new Secret('admin-secret')))],
    ]),
    login: {},
    routes: routes.toSorted((a, b) => b.path.length - a.path.length),
    site: undefined,
    siteHeaders: [],
  };
}

export interface RequestOptions {
  readonly method?: Inbound['method'];
  readonly path?: string;
  readonly query?: string;
  /** Name, value, name, value … */
  readonly headers?: readonly string[];
  readonly body?: BodyPlan;
}

/** A request as intake gives it; headers are joined and dropped as node:http does. */
export function inbound(options: RequestOptions = {}): Inbound {
  const { method = 'GET', path = '/v2/kernel', query, headers = [], body = { kind: 'none' } } = options;
  const byName: Record<string, string> = {};
  for (let i = 0; i < headers.length; i += 2) {
    const name = String(headers[i]).toLowerCase();
    if (byName[name] === undefined) byName[name] = String(headers[i + 1]);
    else if (name !== 'content-type') byName[name] += `, ${headers[i + 1]}`;
  }
  return {
    tenant: tenant(),
    origin: 'https://console.acme.example',
    method,
    target: query === undefined ? path : `${path}?${query}`,
    path,
    query,
    encodedSlash: false,
    client: '192.0.2.1',
    requestId: '0'.repeat(32),
    rawHeaders: headers,
    headers: byName,
    body,
    receivedAt: 0,
  };
}

/** A request with a JSON body of that many bytes still to come. */
export function withBody(length: number, options: RequestOptions = {}): Inbound {
  return inbound({
    method: 'POST',
    headers: ['Content-Type', 'application/json'],
    body: { kind: 'sized', length },
    ...options,
  });
}

export function session(...roles: string[]): Session {
  return {
    key: 'key',
    tenant: 'acme',
    subject: undefined,
    roles,
    method: 'visitor',
    createdAt: 0,
    seenAt: 0,
    lifetime: { idle: 1000, absolute: 1000 },
  };
}

/** The Problem that the function must throw. */
export function problemOf(run: () => unknown): Problem {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof Problem) return thrown;
    throw thrown;
  }
  throw new Error('nothing was refused');
}

export function refusal(run: () => unknown): ProblemCode {
  return problemOf(run).code;
}

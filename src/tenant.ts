import { inspect } from 'node:util';
import type { KeypairRefusal, KeypairRing } from './keypair-ring.ts';
import type { Secret } from './secret.ts';
import type { Dialect } from './signing/dialect.ts';
import type { UpstreamTls } from './tls.ts';

/** The Service's rate figures for one access key, as last seen and verbatim: their unit is the upstream's business. */
export interface RateFigures {
  readonly limit: string;
  readonly remaining: string;
  readonly reset: string;
}

/** An access key and its secret. Printed in any way it shows the access key only. */
export class Keypair {
  readonly accessKey: string;
  readonly secretKey: Secret;
  /** `X-RateLimit-*` of the newest upstream answer to this keypair; undefined before the first (service-api.md §8). */
  quota: RateFigures | undefined;
  /** Set while the Service refuses this keypair. */
  refusal: KeypairRefusal | undefined;

  constructor(accessKey: string, secretKey: Secret) {
    this.accessKey = accessKey;
    this.secretKey = secretKey;
  }

  toJSON(): { accessKey: string } {
    return { accessKey: this.accessKey };
  }

  toString(): string {
    return `Keypair(${this.accessKey})`;
  }

  [inspect.custom](): string {
    return this.toString();
  }
}

/** Durations in milliseconds. */
export interface UpstreamTimeouts {
  readonly connect: number;
  /** From the last byte of the request to the head of the response. */
  readonly headers: number;
  /** Between two chunks of a response body. Streams of server-sent events are exempt. */
  readonly idle: number;
}

/** When an endpoint counts as failing, and for how long it is left alone then. Durations in milliseconds. */
export interface BreakerSettings {
  /** Failures in a row that are enough. */
  readonly failures: number;
  /** Share of failures among the attempts of the last ten seconds that is enough, if those were `volume` or more. */
  readonly ratio: number;
  readonly volume: number;
  /** The first time; twice as long after each trial that fails, up to `longestOpen`. */
  readonly open: number;
  readonly longestOpen: number;
}

/** Retries of the last ten seconds may be `ratio` of its requests and `minimum` more. */
export interface RetrySettings {
  readonly ratio: number;
  readonly minimum: number;
}

/** How an endpoint that its breaker has taken out of use is asked whether it is well. Durations in milliseconds. */
export interface HealthSettings {
  /** Path and query of an unsigned GET. */
  readonly path: string;
  readonly interval: number;
  readonly timeout: number;
}

export interface Upstream {
  /** Origins without a trailing slash, `https://api.service.example`. At least one. */
  readonly endpoints: readonly string[];
  /** `vX.yyyymmdd`, sent and signed with every request (service-api.md §9). */
  readonly version: string;
  readonly dialect: Dialect;
  readonly problemBase: string;
  /** An edge prefix such as `/api` that is neither signed nor sent; empty when there is none. */
  readonly mount: string;
  /** Sent as Host and signed in place of the endpoint's own authority. */
  readonly signedHost: string | undefined;
  /** Lowercase names of request headers that pass in addition to the fixed allow-list. */
  readonly passHeaders: ReadonlySet<string>;
  /** Whether the upstream's own Set-Cookie reaches the browser. */
  readonly passSetCookie: boolean;
  readonly timeouts: UpstreamTimeouts;
  /** Connections per endpoint. */
  readonly connections: number;
  readonly breaker: BreakerSettings;
  readonly retries: RetrySettings;
  /** Undefined: the requests of users find out. */
  readonly health: HealthSettings | undefined;
  /** Whether signatures are made in the upstream's time where its clock is off. */
  readonly followClock: boolean;
  /** Undefined: the machine's authorities, and no certificate of our own. */
  readonly tls: UpstreamTls | undefined;
}

export interface Route {
  /** Path prefix, matched on segment boundaries, below the mount. */
  readonly path: string;
  readonly methods: ReadonlySet<string>;
  readonly roles: ReadonlySet<string>;
  /** Media types a request body may have; `application/json` unless the operator lists others. */
  readonly contentTypes: ReadonlySet<string>;
  /** Largest request body in bytes. */
  readonly maxBody: number;
  readonly encodedSlashes: boolean;
  /** REPORT on this route reads only, so it needs no CSRF proof. */
  readonly safeReport: boolean;
  /** Roles that may name another user's access key (service-api.md §4, owner_access_key). */
  readonly ownerAccessKey: ReadonlySet<string>;
  /** Present on a GraphQL route. */
  readonly graphql: GraphqlRule | undefined;
}

export interface GraphqlRule {
  /** Role → root fields it may use. A role that is not listed may use none. */
  readonly fields: ReadonlyMap<string, ReadonlySet<string>>;
  readonly maxDepth: number;
  readonly maxTokens: number;
}

/** Lifetimes of a session in milliseconds. */
export interface Lifetime {
  readonly idle: number;
  readonly absolute: number;
}

export interface User {
  readonly name: string;
  /** argon2id in PHC form. */
  readonly passwordHash: string;
  readonly roles: readonly string[];
}

export interface LoginSettings {
  readonly visitor?: { readonly role: string; readonly lifetime: Lifetime };
  readonly password?: { readonly users: ReadonlyMap<string, User>; readonly lifetime: Lifetime };
}

/** One tenant, whole, as one validated snapshot of the configuration describes it. */
export interface Tenant {
  readonly name: string;
  /** Serialized origins, `https://console.acme.example`; the front end may be on no other. */
  readonly origins: ReadonlySet<string>;
  readonly upstream: Upstream;
  /** Role → its keypairs. */
  readonly keypairs: ReadonlyMap<string, KeypairRing>;
  readonly login: LoginSettings;
  /** Longest path first, so that the first prefix that matches is the most specific. */
  readonly routes: readonly Route[];
  /** Absolute folder of the front end's static files. */
  readonly site: string | undefined;
  /** Name and value of headers sent with those files, e.g. a Content-Security-Policy. */
  readonly siteHeaders: readonly (readonly [string, string])[];
}

/**
 * The Host values (lowercase, with and without a default port) a set of origins answers for. An origin without a port
 * answers to its bare name and to the name with the scheme's default port; nothing else matches.
 */
export function hostsOf(origins: Iterable<string>): string[] {
  const hosts: string[] = [];
  for (const origin of origins) {
    const url = new URL(origin);
    hosts.push(url.host);
    if (url.port === '') hosts.push(`${url.host}:${url.protocol === 'https:' ? '443' : '80'}`);
  }
  return hosts;
}

import type { Secret } from './secret.ts';
import type { Lifetime, Tenant } from './tenant.ts';
import type { TlsIdentity } from './tls.ts';

/** At most `requests` in any `window` milliseconds. */
export interface RateLimit {
  readonly requests: number;
  readonly window: number;
}

export interface EdgeLimits {
  readonly address: RateLimit;
  readonly session: RateLimit;
  readonly tenant: RateLimit | undefined;
  /** New sessions per client address. */
  readonly sessionCreation: RateLimit;
  /** Failed logins per user and address, and per address. `window` is milliseconds. */
  readonly failedLogins: { readonly perUser: number; readonly perAddress: number; readonly window: number };
}

/** The public listener. Durations in milliseconds, sizes in bytes. */
export interface ListenSettings {
  readonly host: string;
  readonly port: number;
  /** CIDR blocks whose X-Forwarded-* are believed. */
  readonly trustProxies: readonly string[];
  readonly headerTimeout: number;
  readonly requestTimeout: number;
  readonly keepAlive: number;
  readonly maxHeaderSize: number;
  readonly maxHeaders: number;
  /** Undefined: plain HTTP/1.1. */
  readonly tls: EdgeTls | undefined;
}

/** TLS of the public listener. */
export interface EdgeTls {
  /** Chosen by the name the client asks for; the first one for those who ask for none of them. */
  readonly certificates: readonly TlsIdentity[];
  /** PEM. Only clients with a certificate of this authority are let in. */
  readonly clientCa: string | undefined;
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
}

export interface SessionSettings {
  /** `memory`, or the URL of a Redis; a Secret because the URL may hold a password. */
  readonly store: Secret;
  readonly lifetime: Lifetime;
  /** Base64 of 32 bytes each; the first seals, all open. Empty: records are stored in the clear. */
  readonly sealKeys: readonly Secret[];
  /** How many sessions of a shared store are kept in memory too, none at 0, and for how many milliseconds at most. */
  readonly nearCache: { readonly entries: number; readonly maxAge: number };
}

export interface AuditSettings {
  /** `stdout`, `stderr` or an absolute path. */
  readonly file: string;
  /** Lines of refusals and failed logins per code and tenant; the rest is counted. */
  readonly refusals: RateLimit;
}

/** Request bodies that are held until they are hashed and sent. Sizes in bytes. */
export interface BodySettings {
  /** A larger body is written to a file. */
  readonly inMemory: number;
  /** All bodies in memory together. */
  readonly memory: number;
  /** All bodies in files together. */
  readonly disk: number;
  /** Absolute; undefined where no folder can be written to, and bodies of any size are held in memory. */
  readonly folder: string | undefined;
}

/** The operators' listener. Without a token or client certificates its host is a loopback address. */
export interface OperatorSettings {
  readonly host: string;
  readonly port: number;
  readonly token: Secret | undefined;
  /** With a `clientCa` (PEM) only clients with a certificate of that authority are let in. */
  readonly tls: (TlsIdentity & { readonly clientCa: string | undefined }) | undefined;
}

/** A tenant as reached under one Host. */
export interface Site {
  readonly tenant: Tenant;
  /** The origin this Host stands for: its scheme decides the cookie's name and flags. */
  readonly origin: string;
}

/** One validated configuration, resolved and frozen. A request sees one snapshot from its first byte to its last. */
export interface Snapshot {
  readonly listen: ListenSettings;
  readonly sessions: SessionSettings;
  readonly limits: EdgeLimits;
  readonly bodies: BodySettings;
  /** How long requests in flight may take to finish after SIGTERM, in milliseconds. */
  readonly drain: number;
  /** Processes that serve requests. With 1 that is the process itself. */
  readonly workers: number;
  readonly logLevel: string;
  /** Undefined: no audit log is kept. */
  readonly audit: AuditSettings | undefined;
  /** Host (lowercase, port included when not the scheme's own) → tenant. */
  readonly sites: ReadonlyMap<string, Site>;
  readonly tenants: readonly Tenant[];
}

import type { IncomingHttpHeaders } from 'node:http';
import type { KeypairRing } from './keypair-ring.ts';
import type { Session } from './session/session.ts';
import type { Keypair, Route, Tenant } from './tenant.ts';

/** The Service's methods (service-api.md §4) and HEAD, which follows GET. */
export const METHODS = ['GET', 'HEAD', 'REPORT', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

/** How the request's body will arrive. `length` is bytes; an unknown length is a chunked body, or one of HTTP/2 that says none. */
export type BodyPlan =
  | { readonly kind: 'none' }
  | { readonly kind: 'sized'; readonly length: number }
  | { readonly kind: 'chunked' };

/** The request as the gateway understood it. Built once, by intake; nothing later looks at the raw request head again. */
export interface Inbound {
  readonly tenant: Tenant;
  /** The origin the front end is on: scheme and Host of this request, one of the tenant's origins. */
  readonly origin: string;
  readonly method: Method;
  /** Origin-form target below the mount, byte for byte as it is routed, judged, signed and sent. */
  readonly target: string;
  /** The target's path with percent-encoded bytes decoded once, encoded slashes kept: what routes are matched against. */
  readonly path: string;
  /** What follows the first `?`, undecoded; undefined when the target has no `?`. */
  readonly query: string | undefined;
  /** Whether the path has an encoded slash or backslash, which only a route may permit. */
  readonly encodedSlash: boolean;
  /** The client's address as the trusted proxies tell it. */
  readonly client: string;
  /** 32 lowercase hex digits, this request's alone; also its trace id where no trace comes with it. */
  readonly requestId: string;
  /** Name, value, name, value … as received. */
  readonly rawHeaders: readonly string[];
  /** The same headers by lowercase name; duplicates joined or dropped as node:http does. */
  readonly headers: Readonly<IncomingHttpHeaders>;
  readonly body: BodyPlan;
  /** Epoch milliseconds. */
  readonly receivedAt: number;
}

/** Who sent the request: a live session, or nobody. */
export interface Caller {
  readonly session: Session | undefined;
}

/** What is known of a request's right to pass before its body is read. */
export interface Admission {
  readonly inbound: Inbound;
  readonly session: Session;
  readonly route: Route;
  /** The caller's role that opened the route, and whose keypair signs. */
  readonly role: string;
  readonly keypair: Keypair;
  /** The role's keypairs, this one among them. */
  readonly ring: KeypairRing;
  /** The body has to be in memory before it can be judged. */
  readonly inspectsBody: boolean;
  /** The body has to be in memory before it is sent: to be judged or to be hashed. */
  readonly readsBody: boolean;
}

declare const permitted: unique symbol;

/** Leave to forward one request. Only `policy/decide.ts` makes one; `forward/` takes nothing else. */
export interface Permit extends Admission {
  readonly [permitted]: true;
}

import type { Lifetime, Tenant } from '../tenant.ts';

/** One try to log in: the parsed body of `POST /-/session` and where it came from. */
export interface LoginAttempt {
  readonly tenant: Tenant;
  readonly body: Readonly<Record<string, unknown>>;
  /** The client's address. */
  readonly client: string;
}

/** Who the caller turned out to be. `subject` is undefined for an anonymous visitor. */
export interface Identity {
  readonly subject: string | undefined;
  readonly roles: readonly string[];
  /** The name of the method that vouches for it. */
  readonly method: string;
  readonly lifetime: Lifetime;
}

/** One way of logging in; one file each. */
export interface LoginMethod {
  readonly name: string;
  /** Whether the tenant has it configured. */
  offeredBy(tenant: Tenant): boolean;
  /** Throws the Problem that refuses the attempt. Only called for a tenant that offers the method. */
  login(attempt: LoginAttempt): Promise<Identity>;
}

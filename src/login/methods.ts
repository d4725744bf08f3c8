import { Problem } from '../problem.ts';
import type { Tenant } from '../tenant.ts';
import type { FailedAttempts } from './attempts.ts';
import { HashQueue } from './hash-queue.ts';
import type { Identity, LoginAttempt, LoginMethod } from './method.ts';
import { passwordMethod } from './password.ts';
import { visitorMethod } from './visitor.ts';

/** Two of the pool's four threads, and at most a second or two of waiting. */
const HASHING = { concurrency: 2, capacity: 64 } as const;

export interface LoginMethods {
  /** The methods a front end may show for a tenant. */
  offered(tenant: Tenant): { readonly name: string }[];
  /** Logs in by the method that `body.method` names. Throws the Problem that refuses the attempt. */
  login(attempt: LoginAttempt): Promise<Identity>;
}

export function createLoginMethods(options: { attempts: FailedAttempts }): LoginMethods {
  const methods: readonly LoginMethod[] = [
    visitorMethod,
    passwordMethod({ attempts: options.attempts, queue: new HashQueue(HASHING) }),
  ];

  return {
    offered: (tenant) => methods.filter((method) => method.offeredBy(tenant)).map(({ name }) => ({ name })),
    async login(attempt) {
      const method = methods.find(({ name }) => name === attempt.body['method']);
      if (method?.offeredBy(attempt.tenant) !== true) {
        throw new Problem('unknown-login-method', 'The method of the body is none that GET /-/session lists.');
      }
      return method.login(attempt);
    },
  };
}

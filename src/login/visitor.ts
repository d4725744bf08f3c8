import { Problem } from '../problem.ts';
import type { LoginMethod } from './method.ts';

/** An anonymous session: anyone may have one, and nothing is asked. */
export const visitorMethod: LoginMethod = {
  name: 'visitor',
  offeredBy: (tenant) => tenant.login.visitor !== undefined,
  async login({ tenant }) {
    const { visitor } = tenant.login;
    if (visitor === undefined) throw new Problem('unknown-login-method', 'This tenant offers no login as a visitor.');
    return { subject: undefined, roles: [visitor.role], method: 'visitor', lifetime: visitor.lifetime };
  },
};

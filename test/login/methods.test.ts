import { describe, expect, it } from 'vitest';
import { createLoginMethods } from '../../src/login/methods.ts';
import { openAttempts } from '../../src/login/open-attempts.ts';
import { hashPassword } from '../../src/login/password-hash.ts';
import { LIFETIME, tenantWith, usersOf } from './fixture.ts';

const methods = createLoginMethods({ attempts: openAttempts('memory') });
const visitor = { role: 'guest', lifetime: LIFETIME };

describe('the login methods of a tenant', () => {
  it('are those it has configured', () => {
    const password = { users: usersOf(), lifetime: LIFETIME };
    expect(methods.offered(tenantWith({ visitor, password }))).toEqual([{ name: 'visitor' }, { name: 'password' }]);
    expect(methods.offered(tenantWith({ password }))).toEqual([{ name: 'password' }]);
    expect(methods.offered(tenantWith({}))).toEqual([]);
  });

  it('make a visitor an anonymous session with the visitor’s role', async () => {
    const attempt = { tenant: tenantWith({ visitor }), body: { method: 'visitor' }, client: '192.0.2.7' };
    expect(await methods.login(attempt)).toEqual({
      subject: undefined,
      roles: ['guest'],
      method: 'visitor',
      lifetime: LIFETIME,
    });
  });

  it('log a user in by the method the body names', async () => {
    const alice = { name: 'alice', passwordHash: await hashPassword('correct horse'), roles: ['user'] };
    const tenant = tenantWith({ visitor, password: { users: usersOf(alice), lifetime: LIFETIME } });
    const body = { method: 'password', username: 'alice', password: 'correct horse' };
    expect(await methods.login({ tenant, body, client: '192.0.2.7' })).toMatchObject({ subject: 'alice' });
  });

  it.each([
    ['a method that does not exist', { method: 'magic' }],
    ['a method the tenant does not offer', { method: 'password', username: 'alice', password: 'x' }],
    ['no method', {}],
    ['a method that is no string', { method: ['visitor'] }],
    ['a name every object has', { method: 'toString' }],
  ])('refuse %s', async (_what, body) => {
    const tenant = tenantWith({ visitor });
    await expect(methods.login({ tenant, body, client: '192.0.2.7' })).rejects.toMatchObject({
      code: 'unknown-login-method',
      status: 400,
    });
  });
});

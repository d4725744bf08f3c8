import { beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../../src/login/attempts.ts';
import { HashQueue } from '../../src/login/hash-queue.ts';
import { openAttempts } from '../../src/login/open-attempts.ts';
import { passwordMethod } from '../../src/login/password.ts';
import { hashPassword } from '../../src/login/password-hash.ts';
import type { Tenant } from '../../src/tenant.ts';
import { LIFETIME, tenantWith, usersOf } from './fixture.ts';

const CLIENT = '192.0.2.7';
const REFUSED = { code: 'invalid-credentials', status: 401 };

describe('login by password', () => {
  let tenant: Tenant;
  beforeAll(async () => {
    const alice = { name: 'alice', passwordHash: await hashPassword('correct horse'), roles: ['user', 'admin'] };
    const bob = { name: 'bob', passwordHash: await hashPassword('battery staple'), roles: ['user'] };
    tenant = tenantWith({ password: { users: usersOf(alice, bob), lifetime: LIFETIME } });
  });

  function method(limits = DEFAULT_LIMITS, queue = new HashQueue({ concurrency: 2, capacity: 64 })) {
    const password = passwordMethod({ attempts: openAttempts('memory', { limits }), queue });
    return (username: unknown, secret: unknown, client = CLIENT) =>
      password.login({ tenant, body: { method: 'password', username, password: secret }, client });
  }

  it('gives the user’s name, roles and lifetime', async () => {
    expect(await method()('alice', 'correct horse')).toEqual({
      subject: 'alice',
      roles: ['user', 'admin'],
      method: 'password',
      lifetime: LIFETIME,
    });
  });

  it('answers a wrong password and an unknown name alike', async () => {
    const login = method();
    const [wrong, unknown, foreign] = await Promise.all(
      [
        ['alice', 'wrong'],
        ['mallory', 'wrong'],
        ['alice', 'battery staple'],
      ].map(([name, password]) => login(name, password).catch((thrown: unknown) => thrown)),
    );
    expect(wrong).toMatchObject(REFUSED);
    const seen = (thrown: unknown) => JSON.stringify({ ...(thrown as object), stack: '' });
    expect(seen(unknown)).toBe(seen(wrong));
    expect(seen(foreign)).toBe(seen(wrong));
  });

  it('takes as long for an unknown name as for a wrong password (attack: finding names by the clock)', async () => {
    const login = method({ ...DEFAULT_LIMITS, perUser: 1_000, perAddress: 1_000 });
    const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] };
    for (let round = 0; round < 12; round++) {
      for (const [kind, name] of [
        ['known', 'alice'],
        ['unknown', `nobody-${round}`],
      ] as const) {
        const started = performance.now();
        await expect(login(name, 'wrong')).rejects.toMatchObject(REFUSED);
        times[kind].push(performance.now() - started);
      }
    }
    const ratio = median(times.unknown) / median(times.known);
    expect(ratio).toBeGreaterThan(0.5);
    expect(ratio).toBeLessThan(2);
  });

  it.each([
    ['Object prototype names', '__proto__', 'x'],
    ['an empty name', '', 'correct horse'],
    ['a name in another case', 'Alice', 'correct horse'],
    ['an empty password', 'alice', ''],
    ['a name that is too long', 'a'.repeat(257), 'x'],
    ['a password that is too long', 'alice', 'x'.repeat(1025)],
    ['a lone surrogate', 'alice', '\ud800'],
  ])('refuses %s', async (_what, name, password) => {
    await expect(method()(name, password)).rejects.toMatchObject(REFUSED);
  });

  it.each([
    [undefined, 'x'],
    ['alice', undefined],
    [['alice'], 'x'],
    ['alice', { $ne: '' }],
    [1, 2],
  ])('calls a body invalid with username %j and password %j', async (name, password) => {
    await expect(method()(name, password)).rejects.toMatchObject({ code: 'invalid-body', status: 400 });
  });

  it('does not hash megabytes (attack: burning the processor)', async () => {
    const idle = new HashQueue({ concurrency: 0, capacity: 0 });
    await expect(method(DEFAULT_LIMITS, idle)('alice', 'x'.repeat(10_000_000))).rejects.toMatchObject(REFUSED);
    await expect(method(DEFAULT_LIMITS, idle)('alice', 'x')).rejects.toMatchObject({ code: 'rate-limit-exceeded' });
  });

  it('evaluates five of fifty parallel guesses, and then refuses the right password too, there only', async () => {
    const login = method();
    const guesses = Array.from({ length: 50 }, (_, i) => login('alice', `guess-${i}`).catch((thrown) => thrown.code));
    const codes = await Promise.all(guesses);
    expect(codes.filter((code) => code === 'invalid-credentials')).toHaveLength(5);
    expect(codes.filter((code) => code === 'too-many-attempts')).toHaveLength(45);
    await expect(login('alice', 'correct horse')).rejects.toMatchObject({
      code: 'too-many-attempts',
      status: 429,
      headers: { 'Retry-After': expect.stringMatching(/^\d+$/) },
    });
    expect(await login('alice', 'correct horse', '192.0.2.8')).toMatchObject({ subject: 'alice' });
  });

  it('limits guesses at a name that does not exist just the same (attack: finding names by the limit)', async () => {
    const login = method();
    for (let i = 0; i < 5; i++) await expect(login('nobody', 'x')).rejects.toMatchObject(REFUSED);
    await expect(login('nobody', 'x')).rejects.toMatchObject({ code: 'too-many-attempts' });
  });

  it('forgets typing errors once the password was right', async () => {
    const login = method();
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 4; i++) await expect(login('alice', 'typo')).rejects.toMatchObject(REFUSED);
      expect(await login('alice', 'correct horse')).toMatchObject({ subject: 'alice' });
    }
  });

  it('does not count a login that was turned away because too many were waiting', async () => {
    const busy = new HashQueue({ concurrency: 0, capacity: 0 });
    const attempts = openAttempts('memory');
    const overloaded = passwordMethod({ attempts, queue: busy });
    const attempt = { tenant, body: { username: 'alice', password: 'correct horse' }, client: CLIENT };
    for (let i = 0; i < 20; i++) {
      await expect(overloaded.login(attempt)).rejects.toMatchObject({ code: 'rate-limit-exceeded', status: 429 });
    }
    const relaxed = passwordMethod({ attempts, queue: new HashQueue({ concurrency: 1, capacity: 1 }) });
    expect(await relaxed.login(attempt)).toMatchObject({ subject: 'alice' });
  });
});

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

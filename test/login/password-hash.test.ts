import { parseOptions } from '@node-rs/argon2';
import { describe, expect, it } from 'vitest';
import { decoyHash, hashPassword, verifyPassword } from '../../src/login/password-hash.ts';

describe('hashPassword', () => {
  it('makes an argon2id hash of at least the recommended cost, salted anew each time', async () => {
    const [first, second] = [await hashPassword('correct horse'), await hashPassword('correct horse')];
    expect(first).toMatch(/^\$argon2id\$v=19\$/);
    expect(second).not.toBe(first);
    const { memoryCost, timeCost } = parseOptions(first);
    expect(memoryCost).toBeGreaterThanOrEqual(19_456);
    expect(timeCost).toBeGreaterThanOrEqual(2);
  });

  it('verifies the password and no other', async () => {
    const hash = await hashPassword('pässwörd');
    expect(await verifyPassword(hash, 'pässwörd')).toBe(true);
    for (const wrong of ['', 'passwörd', 'pässwörd ', 'Pässwörd', hash])
      expect(await verifyPassword(hash, wrong)).toBe(false);
  });

  it('takes a composed and a decomposed character for the same, as keyboards differ', async () => {
    expect(await verifyPassword(await hashPassword('caf\u00e9'), 'cafe\u0301')).toBe(true);
  });
});

describe('decoyHash', () => {
  it('costs what the hashes of the users cost and is matched by nothing', async () => {
    const users = ['$argon2id$v=19$m=8192,t=3,p=2$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'];
    const decoy = decoyHash('nobody', users);
    expect(parseOptions(decoy)).toEqual(parseOptions(users[0] ?? ''));
    for (const guess of ['', 'nobody', 'password']) expect(await verifyPassword(decoy, guess)).toBe(false);
  });

  it('costs the same for a name at every try, though users differ', () => {
    const users = [1, 2, 3, 4].map((t) => `$argon2id$v=19$m=8192,t=${t},p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAA`);
    const costs = Array.from({ length: 40 }, (_, i) => parseOptions(decoyHash(`name-${i}`, users)).timeCost);
    expect(new Set(costs)).toEqual(new Set([1, 2, 3, 4]));
    expect(Array.from({ length: 40 }, (_, i) => parseOptions(decoyHash(`name-${i}`, users)).timeCost)).toEqual(costs);
  });

  it('costs what a new hash costs where there are no users', async () => {
    expect(parseOptions(decoyHash('nobody', []))).toEqual(parseOptions(await hashPassword('x')));
  });
});

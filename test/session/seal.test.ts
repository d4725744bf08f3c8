import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { createSeal } from '../../src/session/seal.ts';

const [OLD, NEW, FOREIGN] = [newKey(), newKey(), newKey()];

function newKey(): Secret {
  return new Secret(randomBytes(32).toString('base64'));
}

describe('createSeal', () => {
  it('opens what it sealed, and never seals twice alike', () => {
    const seal = createSeal([NEW]);
    fc.assert(
      fc.property(fc.string(), fc.string({ unit: 'grapheme' }), (key, text) => {
        expect(seal.open(key, seal.seal(key, text))).toBe(text);
      }),
    );
    expect(seal.seal('key', 'text')).not.toBe(seal.seal('key', 'text'));
  });

  it('opens records of every key of the ring and seals with the first', () => {
    const [before, during, after] = [createSeal([OLD]), createSeal([NEW, OLD]), createSeal([NEW])];
    expect(during.open('key', before.seal('key', 'old'))).toBe('old');
    expect(after.open('key', during.seal('key', 'new'))).toBe('new');
    expect(after.open('key', before.seal('key', 'old'))).toBeUndefined();
    expect(createSeal([FOREIGN]).open('key', during.seal('key', 'new'))).toBeUndefined();
  });

  it('does not open a record under another key (attack: copying an admin’s record onto one’s own)', () => {
    const seal = createSeal([NEW]);
    expect(seal.open('mine', seal.seal('admin', '{}'))).toBeUndefined();
  });

  it('does not open a record that was changed anywhere (attack: flipping bits)', () => {
    const seal = createSeal([NEW]);
    const sealed = seal.seal('key', '{"roles":["user"]}');
    for (let i = 0; i < sealed.length; i++) {
      const changed = sealed.slice(0, i) + (sealed[i] === 'A' ? 'B' : 'A') + sealed.slice(i + 1);
      const same = Buffer.from(changed.slice(9), 'base64url').equals(Buffer.from(sealed.slice(9), 'base64url'));
      expect(seal.open('key', changed), changed).toBe(i >= 9 && same ? '{"roles":["user"]}' : undefined);
    }
    for (let length = 0; length < sealed.length; length++)
      expect(seal.open('key', sealed.slice(0, length))).toBeUndefined();
  });

  it('does not open what was never sealed', () => {
    expect(createSeal([NEW]).open('key', '{"version":1}')).toBeUndefined();
    expect(createSeal([NEW]).open('key', '')).toBeUndefined();
  });

  it('refuses a ring without keys and a key that is not 32 bytes', () => {
    expect(() => createSeal([])).toThrow(RangeError);
    expect(() => createSeal([NEW, new Secret(randomBytes(16).toString('base64'))])).toThrow(RangeError);
    expect(() => createSeal([new Secret('changeme')])).toThrow(RangeError);
  });
});

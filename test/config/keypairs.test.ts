import { describe, expect, it } from 'vitest';
import { faultsOf, load, MINIMAL } from './fixture.ts';

const ENV = { VISITOR_SECRET: 'old', NEXT_SECRET: 'new' };

/** The minimal configuration with a ring in place of its keypair, which stands in lines 10 and following. */
function withRing(...members: string[]): string {
  const list = members.map((member) => `\n        - { ${member} }`).join('');
  return MINIMAL.replace(' { accessKey: AKIAVISITOR, secretKey: { env: VISITOR_SECRET } }', list);
}

const OLD = 'accessKey: OLD, secretKey: { env: VISITOR_SECRET }';
const NEW = 'accessKey: NEW, secretKey: { env: NEXT_SECRET }';

const ringIn = (text: string) => load(text, ENV).snapshot.tenants[0]?.keypairs.get('visitor');
const places = (text: string) => faultsOf(text, ENV).map(({ line, path, message }) => `${line} ${path}: ${message}`);

describe('the keypairs of a role', () => {
  it('are one that is always active', () => {
    expect(ringIn(MINIMAL)?.describe(0)).toEqual([
      { accessKey: 'AKIAVISITOR', state: 'active', valid: true, current: true },
    ]);
  });

  it('are a ring, whose dates switch from one to the other', () => {
    const ring = ringIn(
      withRing(
        `${OLD}, notAfter: 2026-11-22`,
        `${NEW}, state: next, notBefore: 2026-11-21T12:00:00+02:00`,
        'accessKey: GONE, secretKey: x, state: retired',
      ),
    );
    const at = (iso: string) => ring?.pick(Date.parse(iso))?.secretKey.reveal();
    expect(at('2026-11-21T09:59:59.999Z')).toBe('old');
    expect(at('2026-11-21T10:00:00Z')).toBe('new');
    expect(ring?.describe(Date.parse('2026-11-21T23:59:59Z')).map(({ valid }) => valid)).toEqual([true, true, false]);
    expect(ring?.describe(Date.parse('2026-11-22T00:00:00Z')).map(({ valid }) => valid)).toEqual([false, true, false]);
  });

  it('may hold one alone, by its dates', () => {
    const ring = ringIn(withRing(`${OLD}, notAfter: 2026-11-22`));
    expect(ring?.pick(Date.parse('2026-11-21'))?.accessKey).toBe('OLD');
    expect(ring?.pick(Date.parse('2026-11-22'))).toBeUndefined();
  });
});

describe('faults of a ring', () => {
  it.each([
    [
      'a date that is none',
      [`${OLD}, notBefore: soon`],
      /^10 .*visitor\[0\]\.notBefore: expected a date .*found "soon"$/,
    ],
    ['a day there never was', [`${OLD}, notAfter: 2026-02-30`], /^10 .*\[0\]\.notAfter: .*found "2026-02-30"$/],
    ['a time without its zone', [OLD, `${NEW}, notBefore: 2026-11-21T10:00:00`], /^11 .*\[1\]\.notBefore: .*time zone/],
    ['a number for a date', [`${OLD}, notAfter: 2026`], /^10 .*\[0\]\.notAfter: expected a text/],
    [
      'an end before its beginning',
      [`${OLD}, notBefore: 2026-11-22, notAfter: 2026-11-22`],
      /^10 .*\[0\]\.notAfter: notAfter is not later than notBefore$/,
    ],
    ['an access key twice', [OLD, OLD], /^11 .*\[1\]\.accessKey: access key OLD is already that of \[0\]$/],
    [
      'none but retired ones',
      [`${OLD}, state: retired`],
      /^9 tenants\.acme\.keypairs\.visitor: every keypair is retired/,
    ],
    ['a state there is none of', [`${OLD}, state: old`], /^10 .*\[0\]\.state: expected one of next, active, retired$/],
    ['a key there is none of', [`${OLD}, since: 2026-11-22`], /^10 .*\[0\]\.since: unknown key$/],
    [
      'a secret that is not there',
      [OLD, 'accessKey: NEW, secretKey: { env: NOPE }'],
      /^11 .*\[1\]\.secretKey: .*NOPE is not set$/,
    ],
  ])('%s', (_name, members, expected) => {
    expect(places(withRing(...members))).toEqual([expect.stringMatching(expected)]);
  });

  it('a ring of none, and what is neither', () => {
    expect(places(MINIMAL.replace(/visitor: \{ access.*/, 'visitor: []'))).toEqual([
      expect.stringMatching(/^9 tenants\.acme\.keypairs\.visitor: /),
    ]);
    expect(places(MINIMAL.replace(/visitor: \{ access.*/, 'visitor: AKIA'))).toEqual([
      expect.stringMatching(/^9 tenants\.acme\.keypairs\.visitor: expected a section or a list/),
    ]);
  });
});

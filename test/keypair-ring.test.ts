import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { KeypairRing, type RingMember } from '../src/keypair-ring.ts';
import { Secret } from '../src/secret.ts';
import { Keypair } from '../src/tenant.ts';

const NOW = Date.UTC(2026, 10, 21, 10);
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

type Place = Omit<Partial<RingMember>, 'keypair'>;

/** A ring of keypairs A, B, C … in the given places. */
function ringOf(...places: Place[]) {
  const keypairs = places.map((_, i) => new Keypair('ABC'.charAt(i), new Secret(`secret-${i}`)));
  const ring = new KeypairRing(
    places.map((place, i) => ({ keypair: keypairs[i] as Keypair, state: 'active' as const, ...place })),
  );
  const picked = (now = NOW, repeatable = true) => ring.pick(now, repeatable)?.accessKey;
  /** A request that is signed at `now` with what the ring gives and refused. */
  const refuse = (keypair: Keypair | undefined, now = NOW) => {
    if (keypair === undefined) throw new Error('no such keypair');
    return ring.refuse(keypair, keypair.refusal, now);
  };
  return { ring, picked, refuse, A: keypairs[0] as Keypair, B: keypairs[1] as Keypair };
}

describe('a ring at peace', () => {
  it.each<[string, Place[], string | undefined]>([
    ['one keypair', [{}], 'A'],
    ['an active one before a next one', [{ state: 'next' }, {}], 'B'],
    ['an active one before a next one whose time has not come', [{ state: 'next', notBefore: NOW + 1 }, {}], 'B'],
    ['the next one once its time has come', [{}, { state: 'next', notBefore: NOW }], 'B'],
    [
      'the next one early when no active one is valid',
      [{ notAfter: NOW }, { state: 'next', notBefore: NOW + HOUR }],
      'B',
    ],
    ['the next one that is due soonest', [{ state: 'next' }, { state: 'next', notBefore: NOW + HOUR }], 'B'],
    ['an active one until its end', [{ notAfter: NOW + 1 }, { state: 'next' }], 'A'],
    ['none from its end on', [{ notAfter: NOW }], undefined],
    ['none before its time', [{ notBefore: NOW + 1 }], undefined],
    ['the one whose time came last', [{}, { notBefore: NOW - 1 }, { notBefore: NOW - HOUR }], 'B'],
    ['the first of equals', [{}, {}], 'A'],
    ['never a retired one', [{ state: 'retired' }], undefined],
    ['never a retired one beside others', [{ state: 'retired', notBefore: NOW }, { state: 'next' }], 'B'],
  ])('picks %s', (_name, places, expected) => {
    expect(ringOf(...places).picked()).toBe(expected);
  });
});

describe('a refused keypair', () => {
  it('is set aside for a minute, and another signs', () => {
    const { picked, refuse, A } = ringOf({}, { state: 'next' });
    expect(refuse(A)).toBe(true);
    expect(picked(NOW + MINUTE - 1)).toBe('B');
    expect(picked(NOW + MINUTE)).toBe('A');
  });

  it('is tried by one request at a time, and by none that cannot be sent again', () => {
    const { picked, refuse, A } = ringOf({}, { state: 'next' });
    refuse(A);
    expect(picked(NOW + MINUTE, false)).toBe('B');
    expect(picked(NOW + MINUTE)).toBe('A');
    expect(picked(NOW + MINUTE)).toBe('B');
    expect(picked(NOW + MINUTE + 10 * SECOND)).toBe('A');
  });

  it('rests twice as long each time, up to a quarter of an hour', () => {
    const { ring, refuse, A } = ringOf({}, {});
    let now = NOW;
    const rests: number[] = [];
    for (let i = 0; i < 7; i++) {
      expect(refuse(A, now)).toBe(i === 0);
      const until = ring.describe(now)[0]?.setAsideUntil ?? 0;
      rests.push((until - now) / MINUTE);
      now = until;
    }
    expect(rests).toEqual([1, 2, 4, 8, 15, 15, 15]);
  });

  it('is set aside once by all the requests that were under way', () => {
    const { ring, A } = ringOf({}, {});
    const before = A.refusal;
    expect(ring.refuse(A, before, NOW)).toBe(true);
    expect(ring.refuse(A, before, NOW + 2 * MINUTE)).toBe(false);
    expect(ring.describe(NOW)[0]?.setAsideUntil).toBe(NOW + MINUTE);
  });

  it('comes back when it is accepted, but not by an answer to what was sent before', () => {
    const { ring, picked, refuse, A } = ringOf({}, {});
    refuse(A);
    expect(ring.accept(A, undefined)).toBe(false);
    expect(picked()).toBe('B');
    expect(ring.accept(A, A.refusal)).toBe(true);
    expect(picked()).toBe('A');
    expect(ring.describe(NOW)[0]).not.toHaveProperty('setAsideUntil');
  });

  it('still signs when there is no other, and takes turns when all are refused', () => {
    const alone = ringOf({});
    alone.refuse(alone.A);
    expect(alone.picked()).toBe('A');
    expect(alone.ring.replacement(alone.A, NOW)).toBeUndefined();

    const { picked, refuse, A, B } = ringOf({}, {});
    refuse(A, NOW);
    refuse(B, NOW + 1);
    expect(picked(NOW + 2)).toBe('A');
    refuse(A, NOW + 2);
    expect(picked(NOW + 3)).toBe('B');
  });

  it('lets one take over whose dates are off by no more than clocks may be', () => {
    const early = ringOf({}, { notBefore: NOW + 15 * MINUTE });
    expect(early.ring.replacement(early.A, NOW)).toBe(early.B);
    expect(early.ring.replacement(early.A, NOW - 1)).toBeUndefined();
    const late = ringOf({ notBefore: NOW }, { notAfter: NOW - 15 * MINUTE });
    expect(late.ring.replacement(late.A, NOW)).toBe(late.B);
    expect(late.ring.replacement(late.A, NOW + 1)).toBeUndefined();
    late.refuse(late.A);
    expect(late.picked()).toBe('B');
  });

  it('is never replaced by a retired one', () => {
    const { ring, A } = ringOf({}, { state: 'retired' });
    expect(ring.replacement(A, NOW)).toBeUndefined();
  });
});

describe('a hand-over', () => {
  it('is told once, and not turned back by an answer that was late', () => {
    const { ring, A, B } = ringOf({}, {});
    expect(ring.handOver(A, NOW, NOW + 1)).toBeUndefined();
    expect(ring.handOver(B, NOW + 10, NOW + 20)).toBe(A);
    expect(ring.handOver(A, NOW + 15, NOW + 30)).toBeUndefined();
    expect(ring.signer).toBe(B);
  });
});

describe('what an operator sees', () => {
  it('is each keypair’s place and standing, without changing either', () => {
    const { ring, picked, refuse, A } = ringOf({ notAfter: NOW + HOUR }, { state: 'next' }, { state: 'retired' });
    A.quota = { limit: '100', remaining: '7', reset: '60' };
    refuse(A);
    const seen = [
      {
        accessKey: 'A',
        state: 'active',
        valid: true,
        current: false,
        setAsideUntil: NOW + MINUTE,
        quota: { limit: '100', remaining: '7', reset: '60' },
      },
      { accessKey: 'B', state: 'next', valid: true, current: true },
      { accessKey: 'C', state: 'retired', valid: false, current: false },
    ];
    expect(ring.describe(NOW)).toEqual(seen);
    expect(ring.describe(NOW + MINUTE)[0]?.current).toBe(true);
    expect(picked(NOW + MINUTE)).toBe('A');
    expect(ring.describe(NOW + HOUR)[0]?.valid).toBe(false);
  });

  it('never is a secret', () => {
    const { ring } = ringOf({}, {});
    const printed = `${JSON.stringify(ring.describe(NOW))}${inspect(ring, { depth: 9, showHidden: true })}`;
    expect(printed).toContain('A');
    expect(printed).not.toContain('secret-');
  });
});

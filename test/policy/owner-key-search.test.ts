import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { searchFor } from '../../src/policy/owner-key.ts';

/** What the search finds in a text that arrives in pieces of these lengths, the last of which repeats. */
function found(format: 'json' | 'form', text: string, lengths: readonly number[]): boolean | undefined {
  const search = searchFor(format);
  const bytes = Buffer.from(text, 'latin1');
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const length = lengths[Math.min(i, lengths.length - 1)] ?? 1;
    search?.update(bytes.subarray(at, at + length));
    at += length;
  }
  return search?.found;
}

const gap = fc.oneof(
  fc.constantFrom('', '_', '-', '. ', '__'),
  fc.integer({ min: 200, max: 3000 }).map((length) => '_'.repeat(length)),
);
const mention = fc.tuple(gap, gap).map(([first, second]) => `owner${first}access${second}Key`);
const piece = fc.oneof(mention, fc.constantFrom('owner', 'access', 'key', '_'.repeat(700), '\\u00', '\\u0061', '%6f'));
const filler = fc.integer({ min: 0, max: 1500 }).map((length) => 'x{}",: '.repeat(length).slice(0, length));
const text = fc.array(fc.oneof(piece, filler), { maxLength: 6 }).map((parts) => parts.join(''));
const cuts = fc.array(fc.integer({ min: 1, max: 2000 }), { minLength: 1, maxLength: 12 });

describe('a body that is searched as it arrives', () => {
  // An attacker chooses where the chunks end: a name that is cut in two must not get through.
  it.each(['json', 'form'] as const)('is found out wherever it is cut: %s', (format) => {
    fc.assert(
      fc.property(text, cuts, (body, lengths) => {
        expect(found(format, body, lengths)).toBe(found(format, body, [body.length + 1]));
      }),
      { numRuns: 400 },
    );
  });

  it.each([
    ['as it stands', 'json', '{"owner_access_key":1}'],
    ['in capitals and with other separators', 'json', '{"OWNER - access.key":1}'],
    ['escaped', 'json', '{"\\u006fwner_access_key":1}'],
    ['with very many separators', 'json', `{"owner${'_'.repeat(5000)}access${' '.repeat(5000)}key":1}`],
    ['in UTF-16', 'json', '{\0"'],
    ['with spaces of a form', 'form', 'a=b&owner+access+key=1'],
    ['percent-encoded', 'form', 'a=b&owner%5Faccess_key=1'],
  ] as const)('byte by byte is found out: %s', (_, format, body) => {
    expect(found(format, body, [1])).toBe(true);
    expect(found(format, body, [512, 1])).toBe(true);
    for (let cut = 1; cut < Math.min(body.length, 40); cut++)
      expect(found(format, body, [cut, body.length])).toBe(true);
  });

  it('that has nothing of the kind is not suspected', () => {
    expect(found('json', '{"name":"owner","access":"key","a":"\\u4e2d\\n"}', [3])).toBe(false);
    expect(found('form', 'name=x+y&owner=access', [2])).toBe(false);
  });

  it('is not searched where nothing is looked for', () => {
    expect(searchFor('opaque')).toBeUndefined();
  });

  // Separators may be repeated without end, which must not make each piece be searched again with all before it.
  it('costs time in proportion to its length', () => {
    const time = (pieces: number) => {
      const search = searchFor('json');
      search?.update(Buffer.from('owner'));
      const block = Buffer.alloc(64 * 1024, '_');
      const start = process.cpuUsage().user;
      for (let i = 0; i < pieces; i++) search?.update(block);
      return process.cpuUsage().user - start;
    };
    time(20);
    expect(time(200)).toBeLessThan(40 * Math.max(time(20), 2000));
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { forEachKey, stringAt } from '../../src/policy/json-keys.ts';

function keysOf(text: string): [string, number][] | undefined {
  const keys: [string, number][] = [];
  return forEachKey(text, (key, depth) => keys.push([key, depth])) ? keys : undefined;
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The keys of a value in the order JSON.stringify writes them. */
function expectedKeys(value: unknown, depth = 1): [string, number][] {
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item) => expectedKeys(item, depth + 1));
  return Object.entries(value).flatMap(([key, item]) => [
    [key, depth] as [string, number],
    ...expectedKeys(item, depth + 1),
  ]);
}

describe('the keys of a JSON text', () => {
  it('are found with their depth, however often they are there', () => {
    expect(keysOf('{"a":1,"a":{"b":[{"c":"d"}]} , "a" :\n"x:\\"y\\":"}')).toEqual([
      ['a', 1],
      ['a', 1],
      ['b', 2],
      ['c', 4],
      ['a', 1],
    ]);
  });

  it('are unescaped', () => {
    expect(keysOf('{"\\u0061\\/\\"b\\\\":1,"\\\\":2}')).toEqual([
      ['a/"b\\', 1],
      ['\\', 1],
    ]);
  });

  it('are the same that JSON.stringify wrote', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(undefined, 1, '\t'), (json, indent) => {
        const value: unknown = JSON.parse(json);
        expect(keysOf(JSON.stringify(value, null, indent))).toEqual(expectedKeys(value));
      }),
    );
  });

  it('are found in what JSON.parse takes, and in nothing else', () => {
    const token = fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        ' ',
        '\n',
        '"a"',
        '"\\u00e9"',
        '"\\x"',
        '"',
        '\\',
        'null',
        'true',
        'fals',
        '\u00a0',
      ],
      ...['0', '-1', '01', '1.5e-3', '1.', '.5', '+1', '-', 'NaN', '"\t"', "'a'", '/**/', '\ufeff', '"a":', '{}', '[]'],
    );
    const tokens = fc.array(token, { maxLength: 9 }).map((parts) => parts.join(''));
    const damaged = fc.tuple(fc.json(), fc.nat(), fc.nat(2)).map(([json, at, count]) => {
      const start = at % (json.length + 1);
      return json.slice(0, start) + json.slice(start + count);
    });
    fc.assert(
      fc.property(fc.oneof(tokens, damaged), (text) => {
        expect(keysOf(text) !== undefined).toBe(parses(text));
      }),
      { numRuns: 5000 },
    );
  });

  it('come with the place of their value', () => {
    const text = '{"a" :\t"x\\n", "b":{"c":"y"}, "d":1}';
    const values: (string | undefined)[] = [];
    forEachKey(text, (_, __, valueAt) => values.push(stringAt(text, valueAt)));
    expect(values).toEqual(['x\n', undefined, 'y', undefined]);
  });

  it('are found in a body of any depth', () => {
    const deep = 1_000_000;
    expect(keysOf(`${'['.repeat(deep)}{"a":1}${']'.repeat(deep)}`)).toEqual([['a', deep + 1]]);
  });
});

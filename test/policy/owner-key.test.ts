import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgeMentions, mentionsInBody, mentionsInQuery } from '../../src/policy/owner-key.ts';
import { problemOf, refusal } from './fixture.ts';

const inJson = (text: string) => mentionsInBody(Buffer.from(text), 'json');
const inForm = (text: string) => mentionsInBody(Buffer.from(text), 'form');

/** Every way of writing the name that an upstream might fold into it. */
const spelling = fc
  .tuple(
    fc.constantFrom('owner', 'Owner', 'OWNER', 'oWnEr'),
    fc.constantFrom('access', 'Access', 'ACCESS'),
    fc.constantFrom('key', 'Key', 'KEY'),
    fc.constantFrom('_', '-', '', ' ', '.', '__', '_-'),
    fc.constantFrom('_', '-', '', ' ', '.'),
  )
  .map(([owner, access, key, first, second]) => `${owner}${first}${access}${second}${key}`);

const noise = fc.constantFrom('limit', 'owner', 'access_key', 'owner_access', 'x[]', 'key', '');

describe('in the query', () => {
  it.each([
    'owner_access_key=AKIA',
    'owner_access_key',
    'owner_access_key=',
    'a=1&owner_access_key=AKIA',
    'a=1;owner_access_key=AKIA',
    '&&owner_access_key=1',
    'owner%5faccess%5Fkey=AKIA',
    '%6f%77%6e%65%72_access_key=1',
    'owner+access+key=1',
    'ownerAccessKey=1',
    'OWNER-ACCESS-KEY=1',
    'owner_access_key[]=1',
    'owner_access_key%5B%5D=1',
    'owner_access_key[0][x]=1',
    'filter[owner_access_key]=1',
    'owner_access_key%00=1',
    '+owner_access_key=1',
    'owner_access_key%3Dx=1',
    '%=&owner_access_key=1',
  ])('%s names it', (query) => {
    expect(mentionsInQuery(query)).toBe(1);
  });

  it.each([
    undefined,
    '',
    'limit=20&offset=40',
    'a=owner_access_key',
    'access_key=AKIA',
    'owner=a&access=b&key=c',
    'owner_access_keys=1',
    'a=%6f&b=%',
  ])('%j does not', (query) => {
    expect(mentionsInQuery(query)).toBe(0);
  });

  it('is found however the name is spelled and escaped', () => {
    const escaped = fc
      .tuple(spelling, fc.array(fc.constantFrom(0, 1, 2), { minLength: 24, maxLength: 24 }))
      .map(([name, how]) => [...name].map((char, i) => escapeFor(char, how[i] ?? 0)).join(''));
    fc.assert(
      fc.property(
        escaped,
        fc.array(noise),
        fc.constantFrom('&', ';'),
        fc.constantFrom('', '=', '=AKIA', '[]=1'),
        (name, before, sep, value) => {
          expect(mentionsInQuery([...before, `${name}${value}`, 'z=1'].join(sep))).toBe(1);
        },
      ),
    );
  });
});

/** A character of a name in a query: as it is, or escaped in lower or upper case. */
function escapeFor(char: string, how: number): string {
  if (how === 0 && char !== ' ') return char;
  if (how === 1 && char === ' ') return '+';
  const hex = char.charCodeAt(0).toString(16);
  return `%${how === 1 ? hex : hex.toUpperCase()}`;
}

describe('in a JSON body', () => {
  it.each([
    '{"owner_access_key":"AKIA"}',
    '{"a":[{"b":{"owner_access_key":null}}]}',
    '[{"ownerAccessKey":1}]',
    '{"owner\\u005faccess_key":1}',
    '{"\\u006F\\u0077ner_access_key":1}',
    '{ "owner_access_key" \n:\t1}',
    '{"\\"owner_access_key":1}',
    '{"owner_access_key\\u0000":1}',
    '{"text":"\\\\","owner_access_key":1}',
    '{"한글":"é","owner-access-key":1}',
  ])('%s names it', (text) => {
    expect(inJson(text)).toBe(1);
  });

  it.each([
    '{"a":"owner_access_key"}',
    '["owner_access_key", ":"]',
    '{"a":"\\"owner_access_key\\":1"}',
    '{"a":"{\\u0022owner_access_key\\u0022:1}"}',
    '{"owner_access_keys":1,"downer_access_key":1}',
    '{}',
    '',
  ])('%s does not', (text) => {
    expect(inJson(text)).toBe(0);
  });

  // JSON.parse keeps the last of two equal keys, other parsers keep the first: whoever shows only one hides the other.
  it('counts a key as often as it is there', () => {
    expect(inJson('{"owner_access_key":"mine","owner_access_key":"theirs"}')).toBe(2);
    expect(inJson('{"owner_access_key":"mine","ownerAccessKe\\u0079":"theirs"}')).toBe(2);
  });

  it('is found however the name is spelled, escaped and wrapped', () => {
    const key = fc
      .tuple(spelling, fc.array(fc.constantFrom(0, 1, 2), { minLength: 24, maxLength: 24 }))
      .map(([name, how]) => [...name].map((char, i) => jsonEscapeFor(char, how[i] ?? 0)).join(''));
    const wrap = fc.array(fc.constantFrom('[%]', '{"a":%}', '{"a":"\\\\\\"","b":[1,%]}', ' % ', '[{"a":"é"},%]'), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(key, wrap, (name, wraps) => {
        const text = wraps.reduce((inner, outer) => outer.replace('%', () => inner), `{"${name}":"AKIA"}`);
        expect(inJson(text)).toBe(1);
      }),
    );
  });

  // Python's json.loads guesses UTF-16 and UTF-32 from the NULs; a search for the name in UTF-8 finds nothing there.
  it('cannot hide in UTF-16', () => {
    const text = '{"owner_access_key":"AKIA"}';
    for (const body of [
      Buffer.from(text, 'utf16le'),
      Buffer.from(`\ufeff${text}`, 'utf16le'),
      Buffer.from(text, 'utf16le').swap16(),
    ]) {
      expect(refusal(() => mentionsInBody(body, 'json'))).toBe('invalid-body');
    }
  });

  // What this parser and the upstream's may read differently is not guessed at, once the name is about.
  it.each([
    '{"owner_access_key":1',
    '{owner_access_key:1}',
    "{'owner_access_key':1}",
    '{"a":NaN,"owner_access_key":1}',
    '{"a":1}{"owner_access_key":1}',
    '\ufeff{"owner_access_key":1}',
  ])('must be valid where it may be named: %s', (text) => {
    expect(refusal(() => inJson(text))).toBe('invalid-body');
  });

  it('must be valid UTF-8 where it may be named', () => {
    expect(refusal(() => mentionsInBody(Buffer.from('{"owner_access_key":"\xff"}', 'latin1'), 'json'))).toBe(
      'invalid-body',
    );
  });

  it('is not read where nothing in it can name it', () => {
    expect(inJson('{"broken": [')).toBe(0);
    expect(inJson('{"owner":"a","text":"\\uac00 \\n"')).toBe(0);
  });
});

describe('in a form', () => {
  it.each(['owner_access_key=AKIA', 'a=1&owner%5Faccess%5Fkey[]=1', 'a;OwnerAccessKey'])('%s names it', (text) => {
    expect(inForm(text)).toBe(1);
  });

  it('is not named by a value', () => {
    expect(inForm('a=owner_access_key&b=%6f')).toBe(0);
  });
});

it('is not looked for in a body that is neither', () => {
  expect(mentionsInBody(Buffer.from('{"owner_access_key":1}'), 'opaque')).toBe(0);
});

describe('a body made to cost much', () => {
  const size = 4 * 1024 * 1024;
  it.each([
    ['json', `"\\u0041owner${'-'.repeat(size)}"`],
    ['json', `"${'owner-'.repeat(size / 6)}"`],
    ['json', `{"\\u0041${'\\\\'.repeat(size / 2)}":1}`],
    ['json', `["\\u0041"${',{}'.repeat(size / 3)}]`],
    ['form', `%${'&'.repeat(size)}`],
    ['form', '%6f'.repeat(size / 3)],
  ] as const)('is judged in linear time: %s %#', (format, text) => {
    const started = performance.now();
    expect(mentionsInBody(Buffer.from(text), format)).toBe(0);
    expect(performance.now() - started).toBeLessThan(5000);
  });
});

describe('the judgement', () => {
  it('refuses any mention to a role that may not name it', () => {
    expect(refusal(() => judgeMentions(1, false))).toBe('owner-access-key');
    expect(() => judgeMentions(0, false)).not.toThrow();
  });

  it('lets a role that may name it do so once', () => {
    expect(() => judgeMentions(1, true)).not.toThrow();
    expect(problemOf(() => judgeMentions(2, true))).toMatchObject({
      code: 'owner-access-key',
      detail: expect.stringContaining('more than once'),
    });
  });
});

/** A character of a JSON key: as it is, or escaped in lower or upper case. */
function jsonEscapeFor(char: string, how: number): string {
  if (how === 0) return char;
  const hex = char.charCodeAt(0).toString(16).padStart(4, '0');
  return `\\u${how === 1 ? hex : hex.toUpperCase()}`;
}

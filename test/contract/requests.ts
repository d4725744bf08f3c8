import fc from 'fast-check';

/** What a front end may send, for every upstream that checks what arrives. */
export const BODY = JSON.stringify({ lang: 'python:3.12', note: '한글' });

/** Paths and queries of every odd shape that is unambiguous. */
export const TARGETS = [
  '/v2',
  '/v2?',
  '/v2?a',
  '/v2?a=',
  '/v2?a=1&a=2',
  '/v2?b=2&a=1',
  '/v2?&&',
  '/v2?x=%ed%95%9c',
  '/v2?x=%ED%95%9C',
  '/v2?x=%eD%95%9c%41',
  '/v2?q=a%2Fb//..',
  '/v2?q=../../x&r=%2e%2e%2f',
  '/v2?;',
  '/v2?a;b',
  '/v2?a=b?c',
  '/v2??',
  '/v2?a+b=%20',
  "/v2?a='b'&c=(d)*!",
  '/v2?u=http://x.example/y:80@z',
  '/v2?a[]=1&a[b]=2',
  '/v2/',
  '/v2/x/',
  '/v2/...',
  '/v2/a..b/.c/d.',
  '/v2/..;x/y',
  '/v2/%41%7e',
  '/v2/~user/$a&b+c,d;e=f:g@h!',
  "/v2/it's(ok)*",
  '/v2/my%20data/%ED%95%9C%ea%b8%80',
  '/v2/%25',
  `/v2/long/${'segment/'.repeat(200)}end?${'k=v&'.repeat(1000)}`,
];

/** Every method, without a body, with an empty one, and with one. */
export const EXCHANGES = [
  ['GET', undefined],
  ['HEAD', undefined],
  ['REPORT', undefined],
  ['POST', undefined],
  ['PUT', undefined],
  ['PATCH', undefined],
  ['DELETE', undefined],
  ['POST', ''],
  ['DELETE', ''],
  ['GET', BODY],
  ['REPORT', BODY],
  ['POST', BODY],
  ['PUT', BODY],
  ['PATCH', BODY],
  ['DELETE', BODY],
] as const;

const unreserved = "abcXYZ019-_~!$&'()*+,;=:@";
const escaped = fc
  .tuple(fc.integer({ min: 0x20, max: 0xff }), fc.boolean())
  .filter(([byte]) => !'./\\#'.includes(String.fromCharCode(byte)) && byte !== 0x7f)
  .map(([byte, upper]) => {
    const hex = byte.toString(16).padStart(2, '0');
    return `%${upper ? hex.toUpperCase() : hex}`;
  });
const piece = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...unreserved) }, escaped);
const segment = fc.array(piece, { minLength: 1, maxLength: 12 }).map((pieces) => pieces.join(''));
const queryPiece = fc.oneof(piece, fc.constantFrom('/', '?', '.', '..', '//', '&', '=', '[', ']', '%2F', '%2e'));
const query = fc.option(
  fc.array(queryPiece, { maxLength: 20 }).map((pieces) => `?${pieces.join('')}`),
  { nil: '' },
);
/** Whatever design calls unambiguous below `/v2`. */
export const unambiguousTargets = fc
  .tuple(fc.array(segment, { maxLength: 5 }), fc.constantFrom('', '/'), query)
  .map(([segments, end, text]) => `/v2${segments.map((part) => `/${part}`).join('')}${end}${text}`);

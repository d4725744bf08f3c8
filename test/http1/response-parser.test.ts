import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Reading, readAtOnce, readByNode, readInPieces } from './reading.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const sized = (headers: string, body = 'hello') => `${OK}${headers}\r\n\r\n${body}`;
const coded = (encoding: string, body = '5\r\nhello\r\n0\r\n\r\n') =>
  `${OK}Transfer-Encoding:${encoding}\r\n\r\n${body}`;
const chunked = (body: string) => coded(' chunked', body);
const status = (line: string) => `${line}\r\nContent-Length: 5\r\n\r\nhello`;
const behind = (interim: string) => `${interim}${sized('Content-Length: 5')}`;

const HELLO = { outcome: 'whole', status: 200, body: 'hello' };
const REFUSED = { outcome: 'refused', status: undefined, body: '' };
/** Refused behind a head that has been read. */
const BROKEN = { outcome: 'refused', status: 200 };

/*
 * The second opinion on every response here is llhttp's, over a real connection. Where it agrees there is nothing to say.
 * Where it reads what we refuse, `llhttp` says how that reading goes wrong, or why we are stricter.
 */

const ACCEPTED: readonly (readonly [name: string, bytes: string, reading: Partial<Reading>])[] = (
  [
    ['a length', sized('Content-Length: 5')],
    ['a length among blanks', sized('Content-Length: \t 5\t ')],
    ['no reason phrase', status('HTTP/1.1 200')],
    ['an empty reason phrase', status('HTTP/1.1 200 ')],
    ['a reason phrase outside ASCII', status('HTTP/1.1 200 \xe9')],
    ['a value outside ASCII', sized('X: \xe9\r\nContent-Length: 5')],
    ['HTTP/1.0 to the end of the connection', 'HTTP/1.0 200 OK\r\n\r\nhello'],
    ['no framing to the end of the connection', `${OK}\r\nhello`],
    ['chunks', chunked('5\r\nhello\r\n0\r\n\r\n')],
    ['chunks, one byte each, sizes with zeros', chunked('01\r\nh\r\n001\r\ne\r\n3\r\nllo\r\n000\r\n\r\n')],
    ['chunks, in any case', coded('\tChunKed')],
    ['a chunk extension', chunked('5;a;b=c;d="e;\xe9\\"f"\r\nhello\r\n0;z\r\n\r\n')],
    ['trailers', chunked('5\r\nhello\r\n0\r\nDigest: x\r\nX-Y:\t\xe9\r\n\r\n')],
    ['100 Continue unasked', behind('HTTP/1.1 100 Continue\r\n\r\n')],
    ['103 Early Hints', behind('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n')],
    ['two informational heads', behind('HTTP/1.1 102 P\r\n\r\nHTTP/1.1 199\r\n\r\n')],
    ['an informational head that claims a body', behind('HTTP/1.1 103 E\r\nContent-Length: 5\r\n\r\n')],
    ['an upgrade offered, not made', sized('Connection: upgrade\r\nUpgrade: x\r\nContent-Length: 5')],
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204, body: '' }],
    [
      '304 with the length of what was not sent',
      'HTTP/1.1 304 N\r\nContent-Length: 5\r\n\r\n',
      { status: 304, body: '' },
    ],
    ['a status nobody registered', status('HTTP/1.1 999 X'), { status: 999 }],
    ['a head of 20 kB', sized(`${'X-Pad: 0123456789\r\n'.repeat(1000)}Content-Length: 5`)],
  ] as const
).map(([name, bytes, reading = {}]) => [name, bytes, reading] as const);

const CUT: readonly (readonly [name: string, bytes: string, reading: Partial<Reading>])[] = [
  ['nothing at all', '', { status: undefined, body: '' }],
  ['half a head', 'HTTP/1.1 200 OK\r\nContent-Le', { status: undefined, body: '' }],
  ['less than its length', sized('Content-Length: 10'), { body: 'hello' }],
  ['half a chunk', chunked('6\r\nhello'), { body: 'hello' }],
  ['no last chunk', chunked('5\r\nhello\r\n'), { body: 'hello' }],
  ['no line end behind the last chunk', chunked('5\r\nhello\r\n0\r\n'), { body: 'hello' }],
  ['an informational head alone', 'HTTP/1.1 100 Continue\r\n\r\n', { status: undefined, body: '' }],
];

const REFUSED_HEADS: readonly (readonly [name: string, bytes: string])[] = [
  ['a length and chunks', sized('Content-Length: 5\r\nTransfer-Encoding: chunked', '5\r\nhello\r\n0\r\n\r\n')],
  ['chunks and a length', sized('Transfer-Encoding: chunked\r\nContent-Length: 5', '5\r\nhello\r\n0\r\n\r\n')],
  ['one length twice', sized('Content-Length: 5\r\nContent-Length: 5')],
  ['two lengths', sized('Content-Length: 5\r\ncontent-length: 6')],
  ...['+5', '-5', '0x5', '5 5', '5, 5', '5, 6', '', '5.0', '5e0', '5;', '\v5', '18446744073709551621'].map(
    (value) => [`a length of ${JSON.stringify(value)}`, sized(`Content-Length: ${value}`)] as const,
  ),
  ['chunked behind a vertical tab', coded(' \vchunked')],
  ['chunked on a folded line', coded('\r\n chunked')],
  ['no coding', coded('', 'hello')],
  ['a blank before the colon of the coding', sized('Transfer-Encoding : chunked', '5\r\nhello\r\n0\r\n\r\n')],
  ['LF for every line end', 'HTTP/1.1 200 OK\nContent-Length: 5\n\nhello'],
  ['LF for one line end', 'HTTP/1.1 200 OK\r\nContent-Length: 5\n\r\nhello'],
  ['LF for the empty line', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\nhello'],
  ['LF in a value', sized('X: a\nContent-Length: 5')],
  ['CR in a value', sized('X: a\rContent-Length: 9\r\nContent-Length: 5')],
  ['CR behind the status line', 'HTTP/1.1 200 OK\rContent-Length: 5\r\n\r\nhello'],
  ['NUL in a value', sized('X: a\0b\r\nContent-Length: 5')],
  ['NUL in a name', sized('X\0: a\r\nContent-Length: 5')],
  ['DEL in a value', sized('X: a\x7fb\r\nContent-Length: 5')],
  ['a control byte in a value', sized('X: a\x01b\r\nContent-Length: 5')],
  ['a folded line', sized('X: a\r\n b\r\nContent-Length: 5')],
  ['a folded line behind the status line', `${OK} X: a\r\nContent-Length: 5\r\n\r\nhello`],
  ['a blank before a colon', sized('X : a\r\nContent-Length: 5')],
  ['a blank in a name', sized('X A: a\r\nContent-Length: 5')],
  ['a line without a colon', sized('X\r\nContent-Length: 5')],
  ['a header without a name', sized(': a\r\nContent-Length: 5')],
  ...['1000 X', '20 X', '2 X', 'abc X', '2000', ' 200 OK', '200OK', '+20 X', '-20 X', '2.0 X'].map(
    (line) => [`a status of ${JSON.stringify(line)}`, status(`HTTP/1.1 ${line}`)] as const,
  ),
  ...['HTTP/2', 'HTTP/1.2', 'HTTP/1.10', 'HTTP/1', 'HTTP/01.1', 'http/1.1', 'HTTPS/1.1', 'ICY', ' HTTP/1.1', ''].map(
    (version) => [`a version of ${JSON.stringify(version)}`, status(`${version} 200 OK`)] as const,
  ),
  ['a tab behind the version', status('HTTP/1.1\t200 OK')],
  ['HTTP/0.9', 'hello'],
  ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['a head of 60 kB', sized(`${'X-Pad: 0123456789\r\n'.repeat(3000)}Content-Length: 5`)],
  ['10,000 headers', sized(`${'X:y\r\n'.repeat(10_000)}Content-Length: 5`)],
];

const REFUSED_BODIES: readonly (readonly [name: string, bytes: string])[] = [
  ...['0x5', '+5', '-5', '5 ', ' 5', '', '5g', '5 5', 'fffffffffffffffff', '5 ;a', '5;', '5;a b', '5;\x01'].map(
    (size) => [`a chunk size of ${JSON.stringify(size)}`, chunked(`${size}\r\nhello\r\n0\r\n\r\n`)] as const,
  ),
  ['a chunk size ended by LF', chunked('5\nhello\r\n0\r\n\r\n')],
  ['a chunk size ended by CR', chunked('5\rhello\r\n0\r\n\r\n')],
  ['CR in a chunk extension', chunked('5;a=\rb\r\nhello\r\n0\r\n\r\n')],
  // Taken as an extension up to the LF by one and as a line by the other, this would hide a chunk.
  ['LF in a quoted chunk extension', chunked('5;a="\n"\r\nhello\r\n0\r\n\r\n')],
  ['no line end behind a chunk', chunked('5\r\nhello0\r\n\r\n')],
  ['LF behind a chunk', chunked('5\r\nhello\n0\r\n\r\n')],
  ['a chunk longer than its size', chunked('5\r\nhello!\r\n0\r\n\r\n')],
  ['a chunk shorter than its size', chunked('6\r\nhello\r\n0\r\n\r\n')],
  ['a trailer without a colon', chunked('5\r\nhello\r\n0\r\nnonsense\r\n\r\n')],
  ['the next response for a trailer', chunked(`5\r\nhello\r\n0\r\n${sized('Content-Length: 5')}`)],
  ['a length in the trailers', chunked('5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n')],
  ['a folded trailer', chunked('5\r\nhello\r\n0\r\nX: a\r\n b\r\n\r\n')],
  ['a trailer ended by LF', chunked('5\r\nhello\r\n0\r\nX: a\n\r\n')],
  ['CR in a trailer', chunked('5\r\nhello\r\n0\r\nX: a\rb\r\n\r\n')],
  ['NUL in a trailer', chunked('5\r\nhello\r\n0\r\nX: a\0b\r\n\r\n')],
  ['a trailer of 5 kB', chunked(`0\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`)],
  ['trailers of 200 kB', chunked(`0\r\n${`X: ${'x'.repeat(100)}\r\n`.repeat(2000)}\r\n`)],
];

const STRICTER: readonly (readonly [name: string, bytes: string, why: string])[] = [
  ['a length past 2^53', sized('Content-Length: 99999999999999999'), 'counts in 64 bits; we in doubles'],
  ['a length with 18 zeros', sized(`Content-Length: ${'0'.repeat(18)}5`), 'strips zeros; nobody sends them'],
  ['chunked, then another coding', coded(' chunked, identity'), 'reads to the end of the connection'],
  ['another coding, then chunked', coded(' gzip, chunked'), 'undoes one coding of two'],
  ['a coding that ends in chunked', coded(' xchunked'), 'reads to the end of the connection'],
  ['a coding that begins with chunked', coded(' chunkedx'), 'reads to the end of the connection'],
  ['chunked with blanks behind it', coded(' chunked \t'), 'takes it for another coding'],
  ['chunked in quotes', coded(' "chunked"'), 'reads to the end of the connection'],
  ['chunked with a parameter', coded(' chunked;q=1'), 'reads to the end of the connection'],
  ['chunked twice', coded(' chunked\r\nTransfer-Encoding: chunked'), 'undoes one coding of two'],
  ['two codings on two lines', coded(' identity\r\nTransfer-Encoding: chunked'), 'lets the last count'],
  ['identity', coded(' identity', 'hello'), 'accepts a coding RFC 9112 has withdrawn'],
  ['chunks over HTTP/1.0', coded(' chunked').replace('1.1', '1.0'), 'trusts framing RFC 9112 §6.1 calls faulty'],
  ['a line end before the head', `\r\n${sized('Content-Length: 5')}`, 'skips what belongs to no response'],
  ['a control byte in the reason phrase', status('HTTP/1.1 200 O\x01K'), 'lets it pass'],
  ['a status below 100', status('HTTP/1.1 099 X'), 'lets it pass; node:http could not relay it'],
  ['a status of 000', status('HTTP/1.1 000 X'), 'lets it pass; node:http could not relay it'],
  ['HTTP/2.0', status('HTTP/2.0 200 OK'), 'reads it as HTTP/1.1'],
  ['HTTP/0.9 with a head', status('HTTP/0.9 200 OK'), 'reads it as HTTP/1.1'],
  ['RTSP', status('RTSP/1.0 200 OK'), 'reads it as HTTP'],
  ['a switch of protocols unasked', 'HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n', 'makes it'],
  ['a switch to nothing', behind('HTTP/1.1 101 S\r\n\r\n'), 'makes it'],
  ['a name of 300 bytes', sized(`${'x'.repeat(300)}: a\r\nContent-Length: 5`), 'has no limit of its own'],
  [
    'informational heads without an end',
    behind('HTTP/1.1 103 E\r\nLink: </a>\r\n\r\n'.repeat(2000)),
    'skips as many as there are',
  ],
];

const STRICTER_BODIES: readonly (readonly [name: string, bytes: string, why: string])[] = [
  ['a chunk size of 14 digits', chunked('00000000000005\r\nhello\r\n0\r\n\r\n'), 'counts in 64 bits'],
  ['a chunk size past 2^53', chunked('ffffffffffffffff\r\nhello'), 'counts in 64 bits'],
  ['a chunk extension without its value', chunked('5;a=\r\nhello\r\n0\r\n\r\n'), 'takes the value for empty'],
  ['a coding in the trailers', chunked('0\r\nTransfer-Encoding: chunked\r\n\r\n'), 'reads it and does nothing'],
];

/** Bodies where there can be none: read as RFC 9112 §6.3 has it, and found behind the response. */
const SURPLUS: readonly (readonly [name: string, bytes: string, status: number, surplus: number])[] = [
  ['204 with a length', 'HTTP/1.1 204 N\r\nContent-Length: 5\r\n\r\nhello', 204, 5],
  ['204 with chunks', 'HTTP/1.1 204 N\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 204, 5],
  ['304 with a body', 'HTTP/1.1 304 N\r\nContent-Length: 5\r\n\r\nhello', 304, 5],
];

const { outcome: _, ...refusal } = REFUSED;

describe('a response is read as by llhttp', () => {
  it.each(ACCEPTED)('%s', async (_, bytes, reading) => {
    const expected = { ...HELLO, ...reading };
    expect(readAtOnce(bytes)).toMatchObject({ ...expected, surplus: 0 });
    expect(await readByNode(bytes)).toEqual(expected);
  });

  it.each(CUT)('to where it is cut off: %s', async (_, bytes, reading) => {
    const expected = { outcome: 'cut', status: 200, ...reading };
    expect(readAtOnce(bytes)).toMatchObject(expected);
    expect(await readByNode(bytes)).toEqual(expected);
  });

  it('after HEAD: without a body, whatever its head says', async () => {
    for (const framing of ['Content-Length: 5', 'Transfer-Encoding: chunked', 'X: y']) {
      const bytes = `${OK}${framing}\r\n\r\n`;
      expect(readAtOnce(bytes, { isHead: true })).toMatchObject({
        outcome: 'whole',
        status: 200,
        body: '',
        surplus: 0,
      });
      expect(await readByNode(bytes, 'HEAD')).toEqual({ outcome: 'whole', status: 200, body: '' });
    }
    expect(readAtOnce(sized('Content-Length: 5'), { isHead: true })).toMatchObject({ body: '', surplus: 5 });
  });

  it('whatever its framing, size and chunks', async () => {
    await fc.assert(
      fc.asyncProperty(wellFormed(), async ({ bytes, body }) => {
        const expected = { outcome: 'whole', status: 200, body };
        expect(readAtOnce(bytes)).toMatchObject(expected);
        expect(await readByNode(bytes)).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });
});

describe('a response is refused as by llhttp', () => {
  it.each(REFUSED_HEADS)('%s', async (_, bytes) => {
    expect(readAtOnce(bytes)).toMatchObject(refusal);
    expect(readAtOnce(bytes).outcome).toBe('refused');
    expect(await readByNode(bytes)).toEqual(REFUSED);
  });

  it.each(REFUSED_BODIES)('%s', async (_, bytes) => {
    expect(readAtOnce(bytes)).toMatchObject(BROKEN);
    expect(await readByNode(bytes)).toMatchObject(BROKEN);
  });
});

describe('a response is refused that llhttp accepts', () => {
  it.each(STRICTER.map(whyFirst))('%s (llhttp %s)', async (_name, _why, bytes) => {
    expect(readAtOnce(bytes)).toMatchObject(REFUSED);
    expect((await readByNode(bytes)).outcome).not.toBe('refused');
  });

  it.each(STRICTER_BODIES.map(whyFirst))('%s (llhttp %s)', async (_name, _why, bytes) => {
    expect(readAtOnce(bytes)).toMatchObject(BROKEN);
    expect((await readByNode(bytes)).outcome).not.toBe('refused');
  });

  it('while nothing is read that llhttp refuses, whatever is written into a response', async () => {
    await fc.assert(
      fc.asyncProperty(mutated(), async (bytes) => {
        const ours = readAtOnce(bytes);
        if (ours.outcome !== 'whole') return;
        const theirs = await readByNode(bytes);
        expect(theirs).toMatchObject({ status: ours.status, body: ours.body });
        // To llhttp bytes behind a response are an error; to us a reason to close the connection.
        if (ours.surplus === 0) expect(theirs.outcome).toBe('whole');
      }),
      { numRuns: 3000 },
    );
  });
});

describe('what stands behind a response', () => {
  it.each(SURPLUS)('is never its body: %s', (_, bytes, status, surplus) => {
    expect(readAtOnce(bytes)).toMatchObject({ outcome: 'whole', status, body: '', surplus });
  });

  it('is never its own second answer', () => {
    for (const first of [sized('Content-Length: 5'), chunked('5\r\nhello\r\n0\r\n\r\n'), 'HTTP/1.1 204 N\r\n\r\n']) {
      const second = sized('Content-Length: 5', 'world');
      const { surplus, body } = readAtOnce(first + second);
      expect(surplus).toBe(second.length);
      expect(body).not.toContain('world');
    }
  });

  it('is read by nobody before a request', () => {
    const reading = readInPieces([
      Buffer.from(sized('Content-Length: 5')),
      Buffer.from('more'),
      Buffer.from('and more'),
    ]);
    expect(reading).toMatchObject({ ...HELLO, surplus: 12 });
  });
});

describe('a response in pieces', () => {
  const all = [...ACCEPTED, ...CUT, ...REFUSED_HEADS, ...REFUSED_BODIES, ...STRICTER, ...STRICTER_BODIES, ...SURPLUS]
    .map(([, bytes]) => bytes)
    .filter((bytes) => bytes.length < 2000);

  it('is read the same, byte by byte', () => {
    for (const bytes of all) expect(bySize(bytes, 1), JSON.stringify(bytes)).toEqual(once(bytes));
  });

  it('is read the same, wherever it is split in two', () => {
    for (const bytes of all) {
      for (let at = 1; at < bytes.length; at++) {
        const pieces = [bytes.slice(0, at), bytes.slice(at)].map((piece) => Buffer.from(piece, 'latin1'));
        expect(summary(readInPieces(pieces)), JSON.stringify([bytes, at])).toEqual(once(bytes));
      }
    }
  });

  it('is read the same, split anywhere', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.constantFrom(...all),
          wellFormed().map(({ bytes }) => bytes),
          mutated(),
        ),
        fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 40 }),
        (bytes, sizes) => {
          const pieces: Buffer[] = [];
          let from = 0;
          for (let i = 0; from < bytes.length; i++) {
            const size = (sizes[i % sizes.length] ?? 0) + 1;
            pieces.push(Buffer.from(bytes.slice(from, from + size), 'latin1'));
            from += size;
          }
          expect(summary(readInPieces(pieces))).toEqual(once(bytes));
        },
      ),
      { numRuns: 2000 },
    );
  });

  // Joined anew with every piece, a head that comes byte by byte would be copied as often as it has bytes.
  it('costs what it is long, not its square', () => {
    const headOf = (size: number) => `${OK}X: ${'x'.repeat(size)}\r\n\r\n`;
    const cost = (size: number, times: number) => {
      const head = headOf(size);
      const before = process.cpuUsage().user;
      for (let i = 0; i < times; i++) bySize(head, 1, 1 << 20);
      return process.cpuUsage().user - before;
    };
    cost(2048, 64);
    expect(cost(256 * 1024, 1)).toBeLessThan(4 * cost(2048, 128));
  });
});

describe('a head without an end', () => {
  it.each([
    ['of one value', 'X: ', () => 'x'.repeat(100)],
    ['of one name', 'X', () => 'x'.repeat(100)],
    ['of headers', '', () => 'X: y\r\n'],
    ['of names nobody has heard of', '', (i: number) => `X-${i}: y\r\n`],
    ['of informational heads', 'HTTP/1.1 103 E\r\n\r\n', () => 'HTTP/1.1 103 E\r\n\r\n'],
  ])('%s is cut off at its limit', (_, begin, piece) => {
    let given = 0;
    function* endless() {
      const first = begin.startsWith('HTTP') ? begin : OK + begin;
      for (let i = -1; given < 1 << 20; i++) {
        const bytes = Buffer.from(i === -1 ? first : piece(i));
        given += bytes.length;
        yield bytes;
      }
    }
    expect(readInPieces(endless()).outcome).toBe('refused');
    expect(given).toBeLessThanOrEqual(32 * 1024 + 100);
  });

  it('is measured to the byte', () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
    expect(readAtOnce(head, { maxHead: head.length }).outcome).toBe('whole');
    expect(readAtOnce(head, { maxHead: head.length - 1 }).outcome).toBe('refused');
    expect(bySize(head, 1, head.length).outcome).toBe('whole');
    expect(bySize(head, 1, head.length - 1).outcome).toBe('refused');
  });
});

function whyFirst([name, bytes, why]: readonly [string, string, string]): [string, string, string] {
  return [name, why, bytes];
}

/** What must not depend on how the bytes arrive. Of a refused response more may have been seen before it was. */
function summary({ outcome, status, body, surplus, head }: ReturnType<typeof readAtOnce>) {
  return { outcome, status, body, surplus: outcome === 'refused' ? 0 : surplus, head };
}

function once(bytes: string) {
  return summary(readAtOnce(bytes));
}

function bySize(bytes: string, size: number, maxHead?: number) {
  const all = Buffer.from(bytes, 'latin1');
  const pieces: Buffer[] = [];
  for (let at = 0; at < all.length; at += size) pieces.push(all.subarray(at, at + size));
  return summary(readInPieces(pieces, maxHead === undefined ? {} : { maxHead }));
}

function wellFormed(): fc.Arbitrary<{ bytes: string; body: string }> {
  const binary = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
  return fc
    .record({
      framing: fc.constantFrom('length', 'chunked', 'close'),
      parts: fc.array(binary, { maxLength: 5 }),
      interim: fc.constantFrom('', 'HTTP/1.1 100 C\r\n\r\n', 'HTTP/1.1 103 E\r\nLink: <a>\r\n\r\n'),
      value: fc.stringMatching(/^[\x20-\x7e\x80-\xff]{0,20}$/),
      extension: fc.constantFrom('', ';a', ';a=b', ';a="b;c"'),
      trailer: fc.constantFrom('', 'X: y\r\n', 'X:\r\nY: z\r\n'),
    })
    .map(({ framing, parts, interim, value, extension, trailer }) => {
      const body = parts.join('');
      const head = `${interim}${OK}X-Value: ${value}\r\n`;
      if (framing === 'length') return { body, bytes: `${head}content-length: ${body.length}\r\n\r\n${body}` };
      if (framing === 'close') return { body, bytes: `${head}\r\n${body}` };
      const chunks = parts
        .filter((part) => part !== '')
        .map((part) => `${part.length.toString(16)}${extension}\r\n${part}\r\n`);
      return { body, bytes: `${head}Transfer-Encoding: chunked\r\n\r\n${chunks.join('')}0\r\n${trailer}\r\n` };
    });
}

/** Responses with a few bytes changed, added or taken away where it hurts. */
function mutated(): fc.Arbitrary<string> {
  const nasty = fc.constantFrom(
    ...[
      '\r',
      '\n',
      '\r\n',
      '\r\n\r\n',
      ' ',
      '\t',
      ':',
      ';',
      ',',
      '\0',
      '\v',
      '\x7f',
      '\xe9',
      '"',
      '\\',
      '0',
      '1',
      '5',
      'f',
      '-',
      '+',
    ],
    ...[
      'chunked',
      'Content-Length: 5\r\n',
      'Transfer-Encoding: chunked\r\n',
      'HTTP/1.1 200 OK\r\n',
      '0\r\n\r\n',
      '5\r\n',
    ],
  );
  const base = fc.constantFrom(
    sized('Content-Length: 5\r\nX: y'),
    chunked('5;a="b"\r\nhello\r\n0\r\nX: y\r\n\r\n'),
    chunked('2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n'),
    `${OK}X: y\r\n\r\nhello`,
    behind('HTTP/1.1 103 E\r\nLink: <a>\r\n\r\n'),
    'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello',
    'HTTP/1.1 204 N\r\nX: y\r\n\r\n',
  );
  const change = fc.record({ where: fc.double({ min: 0, max: 1, noNaN: true }), drop: fc.nat({ max: 2 }), add: nasty });
  return fc.tuple(base, fc.array(change, { minLength: 1, maxLength: 3 })).map(([bytes, changes]) =>
    changes.reduce((text, { where, drop, add }) => {
      const at = Math.floor(where * text.length);
      return text.slice(0, at) + add + text.slice(at + drop);
    }, bytes),
  );
}

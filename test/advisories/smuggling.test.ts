import fc from 'fast-check';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FrontEnd, HOST } from '../kit/front-end.ts';
import { OPAQUE, startGateway, type TestGateway } from '../kit/gateway.ts';
import { RawClient, type RawResponse } from '../kit/raw-client.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

/*
 * Request smuggling: bytes that the gateway and the upstream cut into requests at different places. The part only one of
 * them sees is a request nobody judged, signed with the tenant's keypair if the gateway can be brought to join in. Every
 * attack below is followed on the same connection by a request to a path that has no route, so a desynchronised gateway
 * gives itself away: by a wrong number of answers, by what the strict upstream saw, or by a violation it recorded.
 */

/** Stands for the session's cookie, which there is none of yet when the attacks are listed. */
const SESSION = '<session>';

let upstream: StrictUpstream;
let gateway: TestGateway;
let page: FrontEnd;

describe.each([
  ['the body is hashed before it is sent', 'service', 'application/json'],
  ['the body is looked into before it is sent', 'backend.ai', 'application/json'],
  ['the body is streamed straight through', 'backend.ai', OPAQUE],
] as const)('where %s', (_, dialect, mediaType) => {
  beforeAll(async () => {
    ({ upstream, gateway } = await startGateway({ dialect }));
    page = await FrontEnd.signIn(gateway.port);
    return async () => {
      await gateway.close();
      await upstream.close();
    };
  });

  beforeEach(() => {
    upstream.requests.length = 0;
    upstream.heads.length = 0;
    upstream.violations.length = 0;
  });

  const credentials = () => `Host: ${HOST}\r\nCookie: ${SESSION}\r\nSec-Fetch-Site: same-origin\r\n`;
  const tail = () => `GET /nowhere/tail HTTP/1.1\r\n${credentials()}Connection: close\r\n\r\n`;

  /** A POST with the given framing lines and whatever stands behind the blank line. */
  const post = (framing: string, rest: string, method = 'POST') =>
    `${method} /v2/echo HTTP/1.1\r\n${credentials()}Content-Type: ${mediaType}\r\n${framing}\r\n${rest}`;

  /**
   * Sends the attack and the tail in one write; gives all answers until the gateway closes the connection. `leave`: once
   * told that it will, the client closes its own side first.
   */
  async function attack(bytes: string, methods: readonly string[] = [], leave = false): Promise<RawResponse[]> {
    const client = await RawClient.connect(page.port);
    client.send((bytes + tail()).replaceAll(SESSION, page.cookie));
    const responses: RawResponse[] = [];
    for (;;) {
      const response = await client.response(methods[responses.length] ?? 'GET');
      if (response === undefined) break;
      responses.push(response);
      if (leave && response.header('connection') === 'close') client.socket.end();
    }
    client.destroy();
    return responses;
  }

  async function expectRefused(bytes: string, status = 400): Promise<void> {
    const [refusal, ...others] = await attack(bytes);
    expect(refusal?.status).toBe(status);
    expect(refusal?.header('content-type')).toBe('application/problem+json');
    expect(refusal?.header('connection')).toBe('close');
    expect(refusal?.json()).toMatchObject({ status });
    expect(others).toEqual([]);
    expect(upstream.requests).toEqual([]);
    expect(upstream.violations).toEqual([]);
  }

  /** The gateway read exactly these requests, the upstream got exactly these, and the tail was judged by itself. */
  async function expectJudged(bytes: string, ...judged: { method: string; target: string; body: string }[]) {
    const responses = await attack(
      bytes,
      judged.map(({ method }) => method),
    );
    expect(responses.map(({ status }) => status)).toEqual([...judged.map(() => 200), 404]);
    expect(upstream.requests.map(({ method, target, payload }) => ({ method, target, body: String(payload) }))).toEqual(
      judged,
    );
    expect(upstream.requests.map(({ verdict }) => verdict.why)).toEqual(judged.map(() => 'verified'));
    expect(upstream.violations).toEqual([]);
  }

  const SMUGGLED = `GET /v2/smuggled HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`;

  describe('two framings in one request', () => {
    // CL.TE: who goes by the length takes the smuggled request for body, who goes by the chunks takes it for the next one.
    it('refuses Content-Length before Transfer-Encoding', () =>
      expectRefused(
        post(`Content-Length: ${5 + SMUGGLED.length}\r\nTransfer-Encoding: chunked\r\n`, `0\r\n\r\n${SMUGGLED}`),
      ));

    // TE.CL: the same disagreement the other way round, the smuggled request inside a chunk.
    it('refuses Transfer-Encoding before Content-Length', () =>
      expectRefused(
        post(
          'Transfer-Encoding: chunked\r\nContent-Length: 4\r\n',
          `${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`,
        ),
      ));

    // Two lengths: one party takes the first, the other the last.
    it.each([
      ['that differ', 'Content-Length: 0\r\nContent-Length: 40\r\n'],
      ['that are equal', 'Content-Length: 5\r\nContent-Length: 5\r\n'],
      ['in one list', 'Content-Length: 5, 5\r\n'],
      ['in two cases', 'Content-Length: 5\r\ncontent-length: 6\r\n'],
    ])('refuses two lengths %s', (_, framing) => expectRefused(post(framing, `hello${SMUGGLED}`)));
  });

  describe('a length that parsers read differently', () => {
    // `+5` is 5 to strtol and an error to RFC 9110; `0x5` is 5, 0 or an error; an overflow wraps around to anything.
    it.each(['+5', '-5', '0x5', '5 5', '5;', '5.0', '1e1', '', '5a', '"5"', '99999999999999999999', '\u00a05'])(
      'refuses Content-Length: %j',
      (length) => expectRefused(post(`Content-Length: ${length}\r\n`, 'hello')),
    );

    // RFC 9110 allows leading zeros. What leaves the gateway is a length of its own.
    it('reads leading zeros as decimal and writes the length afresh', async () => {
      await expectJudged(post('Content-Length: 0010\r\n', '"a body."\n'), {
        method: 'POST',
        target: '/v2/echo',
        body: '"a body."\n',
      });
      expect(upstream.requests[0]?.text).toMatch(/\r\ncontent-length: 10\r\n/i);
    });
  });

  describe('a transfer coding that only one party honours', () => {
    // Each of these is `chunked` to some server that searches, trims or unquotes, and unknown to another.
    // Concurrent: the gateway reads on for a second behind such a head before it closes.
    it.concurrent.each([
      'chunked, identity',
      'identity',
      'xchunked',
      'chunkedx',
      'gzip, chunked',
      'chunked, chunked',
      'chunked;q=1',
      '"chunked"',
      'chun ked',
      '\u000bchunked',
      'chunked,',
      ', chunked',
      '',
    ])('refuses Transfer-Encoding: %j', (coding) =>
      expectRefused(post(`Transfer-Encoding: ${coding}\r\n`, `0\r\n\r\n${SMUGGLED}`)),
    );

    it('refuses two Transfer-Encoding lines', () =>
      expectRefused(post('Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n')));

    // A server that knows no chunks on HTTP/1.0 reads the body as the next request (RFC 9112 §6.1).
    it('refuses chunks on HTTP/1.0', () =>
      expectRefused(post('Transfer-Encoding: chunked\r\n', '0\r\n\r\n').replace('HTTP/1.1', 'HTTP/1.0')));

    // `Transfer-Encoding : chunked` is ignored by one server and honoured by the next (RFC 9112 §5.1).
    it.each([
      'Transfer-Encoding : chunked',
      'Transfer-Encoding\t: chunked',
      ' Transfer-Encoding: chunked',
      'X: y\r\n Transfer-Encoding: chunked',
    ])('refuses %j', (line) => expectRefused(post(`Content-Length: 5\r\n${line}\r\n`, '0\r\n\r\n')));

    // CGI-style servers fold `_` into `-`: the look-alike must die here, not become a second framing there.
    it('keeps Transfer_Encoding and Content_Length away from the upstream', async () => {
      await expectJudged(post('Content-Length: 5\r\nTransfer_Encoding: chunked\r\nContent_Length: 0\r\n', '12345'), {
        method: 'POST',
        target: '/v2/echo',
        body: '12345',
      });
      expect(upstream.requests[0]?.text).not.toMatch(/_/);
    });

    it.each(['CHUNKED', '\tchunked', ' chunked '])('reads %j as chunked, and frames what it sends itself', (coding) =>
      expectJudged(post(`Transfer-Encoding: ${coding}\r\n`, '5\r\n12345\r\n0\r\n\r\n'), {
        method: 'POST',
        target: '/v2/echo',
        body: '12345',
      }),
    );
  });

  describe('chunks on every method', () => {
    // http-proxy (and its heirs) sent a chunked DELETE or OPTIONS as `Content-Length: 0` with the body behind it: whatever
    // the body said was the next request on a signed, trusted connection.
    it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'REPORT', 'GET'])(
      '%s with a request for a body sends it as a body',
      (method) =>
        expectJudged(
          post('Transfer-Encoding: chunked\r\n', `${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`, method),
          { method, target: '/v2/echo', body: SMUGGLED },
        ),
    );

    it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'REPORT', 'GET'])('%s with no chunks has no body', (method) =>
      expectJudged(post('Transfer-Encoding: chunked\r\n', '0\r\n\r\n', method), {
        method,
        target: '/v2/echo',
        body: '',
      }),
    );

    it.each(['POST', 'DELETE', 'REPORT', 'GET'])('%s with a length sends the body as a body', (method) =>
      expectJudged(post(`Content-Length: ${SMUGGLED.length}\r\n`, SMUGGLED, method), {
        method,
        target: '/v2/echo',
        body: SMUGGLED,
      }),
    );

    // OPTIONS ends at the edge and so does its body; HEAD with a body means nothing, and some servers never read it.
    it.each(['OPTIONS', 'HEAD'])('the body of %s never leaves the gateway as a request', async (method) => {
      const responses = await attack(
        post('Transfer-Encoding: chunked\r\n', `${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`, method),
        [method],
      );
      expect(responses.length).toBeGreaterThan(0);
      expect(responses.length).toBeLessThanOrEqual(2);
      expect(upstream.requests.filter(({ target }) => target !== '/v2/echo')).toEqual([]);
      expect(upstream.violations).toEqual([]);
    });
  });

  describe('chunks that parsers read differently', () => {
    // Sizes with a prefix, a sign, spaces or an overflow are numbers to one parser and zero to another.
    it.each(['0x5', '+5', '-5', ' 5', '5 5', '', 'g', '5,', '10000000000000005', 'FFFFFFFFFFFFFFFFFF'])(
      'refuses the chunk size %j',
      (size) => expectRefused(post('Transfer-Encoding: chunked\r\n', `${size}\r\n12345\r\n0\r\n\r\n`)),
    );

    // TERM.EXT and EXT.TERM: a bare LF or CR ends the chunk line for one party and belongs to the extension for the other.
    it.each([
      ['LF after the size', '5\n12345\r\n0\r\n\r\n'],
      ['LF after the data', '5\r\n12345\n0\r\n\r\n'],
      ['CR after the size', '5\r12345\r\n0\r\n\r\n'],
      ['CR after the data', '5\r\n12345\r0\r\n\r\n'],
      ['nothing after the data', '5\r\n123450\r\n\r\n'],
      ['LF within an extension', '5;a\nb\r\n12345\r\n0\r\n\r\n'],
      ['CR within an extension', '5;a\rb\r\n12345\r\n0\r\n\r\n'],
      ['LF at the end of the body', '5\r\n12345\r\n0\r\n\n'],
      ['LF ending the last chunk', '5\r\n12345\r\n0\n\n'],
      ['a length among the trailers', '5\r\n12345\r\n0\r\nContent-Length: 100\r\n\r\n'],
      ['a coding among the trailers', '5\r\n12345\r\n0\r\nTransfer-Encoding: identity\r\n\r\n'],
    ])('refuses %s', (_, body) => expectRefused(post('Transfer-Encoding: chunked\r\n', body)));

    it.each([
      ['an extension', '5;name="value"\r\n12345\r\n0\r\n\r\n'],
      ['leading zeros', '0005\r\n12345\r\n000\r\n\r\n'],
    ])('keeps %s to itself', (_, body) =>
      expectJudged(post('Transfer-Encoding: chunked\r\n', body), { method: 'POST', target: '/v2/echo', body: '12345' }),
    );

    // Trailers merged into the header could overwrite what was judged: a length, a credential, an access key.
    it('drops trailers', async () => {
      const trailers = 'Authorization: Service evil\r\nX-Service-Version: v1.20000101\r\n';
      await expectJudged(
        post('Transfer-Encoding: chunked\r\nTrailer: Authorization\r\n', `5\r\n12345\r\n0\r\n${trailers}\r\n`),
        {
          method: 'POST',
          target: '/v2/echo',
          body: '12345',
        },
      );
      expect(upstream.requests[0]?.text).not.toMatch(/evil|v1\.20000101|trailer/i);
    });
  });

  describe('a head that parsers cut differently', () => {
    const get = (lines: string) => `GET /v2/echo HTTP/1.1\r\n${credentials()}${lines}\r\n`;

    // A line ends at CRLF. Who also ends it at a lone LF or CR, or at NUL, sees a header the other one does not.
    it.each([
      ['a bare LF between headers', get('X: y\nTransfer-Encoding: chunked\r\n')],
      ['a bare LF after the request line', `GET /v2/echo HTTP/1.1\n${credentials()}\r\n`],
      ['a bare LF as the blank line', `GET /v2/echo HTTP/1.1\r\n${credentials()}\n`],
      ['a bare CR in a value', get('X: y\rTransfer-Encoding: chunked\r\n')],
      ['a bare CR before the colon', get('X\r: y\r\n')],
      ['NUL in a value', get('X: a\0b\r\n')],
      ['NUL in a name', get('X\0: y\r\n')],
      ['DEL in a value', get('X: a\u007fb\r\n')],
      ['a folded header', get('X: a\r\n Transfer-Encoding: chunked\r\n')],
      ['a header folded with a tab', get('X: a\r\n\tb\r\n')],
      ['a folded first header', `GET /v2/echo HTTP/1.1\r\n X: y\r\n${credentials()}\r\n`],
      ['a header without a name', get(': y\r\n')],
      ['a header without a colon', get('X y\r\n')],
      ['a name with a space', get('X Y: z\r\n')],
      ['a name with a byte outside ASCII', get('X\u00e9: z\r\n')],
      ['a second Host', get(`Host: ${HOST}\r\n`)],
      ['a second Host that differs', get('host: evil.example\r\n')],
      ['no Host', 'GET /v2/echo HTTP/1.1\r\n\r\n'],
      ['an empty Host', 'GET /v2/echo HTTP/1.1\r\nHost:\r\n\r\n'],
      ['no Host on HTTP/1.0', 'GET /v2/echo HTTP/1.0\r\n\r\n'],
      ['HTTP/0.9', 'GET /v2/echo\r\n'],
      ['HTTP/0.9 by name', get('').replace('HTTP/1.1', 'HTTP/0.9')],
      ['another major version', get('').replace('HTTP/1.1', 'HTTP/2.0')],
      ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
      ['a version with blanks', get('').replace('HTTP/1.1', 'HTTP/1.1 ')],
      ['a target with a space', get('').replace('/v2/echo', '/v2/echo x')],
      ['a tab for a space', get('').replace('GET /v2', 'GET\t/v2')],
      ['a method that is no token', get('').replace('GET', 'G(T')],
    ])('refuses %s', async (_, bytes) => {
      const [refusal, ...others] = await attack(bytes);
      expect([400, 505]).toContain(refusal?.status);
      expect(refusal?.header('content-type')).toBe('application/problem+json');
      expect(refusal?.header('connection')).toBe('close');
      expect(others).toEqual([]);
      expect(upstream.requests).toEqual([]);
      expect(upstream.violations).toEqual([]);
    });

    // With an absolute-form target the Host header is to be ignored (RFC 9112 §3.2.2) and often is not: routing by one
    // and signing by the other would reach a tenant nobody judged.
    it.each([
      ['of another host', 'http://evil.example/v2/echo'],
      ['with a user', `http://user@${HOST}/v2/echo`],
      ['of another port', `http://${HOST}:8080/v2/echo`],
      ['of another scheme', `ftp://${HOST}/v2/echo`],
      ['without a scheme', `//${HOST}/v2/echo`],
      ['that is only an authority', `${HOST}:80`],
      ['that is an asterisk', '*'],
    ])('refuses a target %s', async (_, target) => {
      const [refusal] = await attack(get('').replace('/v2/echo', target));
      expect(refusal?.status).toBe(400);
      expect(refusal?.header('content-type')).toBe('application/problem+json');
      expect(upstream.requests).toEqual([]);
    });

    it.each([
      [`http://${HOST}/v2/echo?x=//y`, '/v2/echo?x=//y'],
      [`http://${HOST}:80/v2/echo`, '/v2/echo'],
      [`HTTP://${HOST.toUpperCase()}/v2/echo?`, '/v2/echo?'],
    ])('sends the target %s as %s', (target, expected) =>
      expectJudged(get('').replace('/v2/echo', target), { method: 'GET', target: expected, body: '' }),
    );

    it.each([
      `${HOST}, evil.example`,
      'evil.example',
      `${HOST}.evil.example`,
      `evil.example#${HOST}`,
      `${HOST}:8080`,
      `${HOST}.`,
    ])('serves no tenant under the Host %j', async (host) => {
      const [refusal] = await attack(`GET /v2/echo HTTP/1.1\r\nHost: ${host}\r\nCookie: ${SESSION}\r\n\r\n`);
      expect([400, 421]).toContain(refusal?.status);
      expect(upstream.requests).toEqual([]);
    });

    it('answers CONNECT with a refusal and opens no tunnel', async () => {
      const [refusal, ...others] = await attack(
        `CONNECT ${upstream.origin.slice(7)} HTTP/1.1\r\n${credentials()}\r\n${SMUGGLED}`,
      );
      expect(refusal?.status).toBe(405);
      expect(others).toEqual([]);
      expect(upstream.heads).toEqual([]);
    });
  });

  describe('pipelined requests', () => {
    it('judges each by itself and answers in order, and one that is refused does not take another with it', async () => {
      const body = '{"n":1}';
      const bytes = [
        page.bytes('POST', '/v2/first', { body }),
        page.bytes('GET', '/nowhere/second'),
        page.bytes('DELETE', '/v2/third'),
      ].join('');
      const responses = await attack(bytes, ['POST', 'GET', 'DELETE']);
      expect(responses.map(({ status }) => status)).toEqual([200, 404, 200, 404]);
      expect(responses[0]?.json()).toMatchObject({ method: 'POST', target: '/v2/first', received: body.length });
      expect(responses[2]?.json()).toMatchObject({ method: 'DELETE', target: '/v2/third', received: 0 });
      expect(upstream.requests.map(({ target }) => target).sort()).toEqual(['/v2/first', '/v2/third']);
      expect(upstream.violations).toEqual([]);
    });

    // The body of a refused request is not a request, whatever it says.
    it('never reads the body of a refused request as the next request', async () => {
      const responses = await attack(
        `POST /nowhere HTTP/1.1\r\n${credentials()}Content-Type: application/json\r\nContent-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
      );
      expect(responses.map(({ status }) => status)).toSatisfy((statuses: number[]) =>
        ['404', '404,404'].includes(String(statuses)),
      );
      expect(upstream.heads).toEqual([]);
    });
  });

  describe('any mixture of such bytes', () => {
    // No `Connection: Upgrade`: node:http loses what is pipelined behind an upgrade that it ignores, and waits.
    const line = fc.constantFrom(
      'Content-Length: 5',
      'Content-Length: 0',
      'Content-Length: 60',
      'Content-Length:',
      'content-length: 05',
      'Content-Length: 5, 5',
      'Transfer-Encoding: chunked',
      'Transfer-Encoding: identity',
      'transfer-encoding:\tchunked',
      'Transfer-Encoding : chunked',
      'Connection: Content-Length',
      'Connection: Transfer-Encoding, close',
      'Upgrade: websocket',
      'Expect: 100-continue',
      'Trailer: Content-Length',
      'Host: evil.example',
      ' folded',
      'X: \0',
      'X: \r',
      'X',
      '',
    );
    const end = fc.oneof(
      { weight: 12, arbitrary: fc.constant('\r\n') },
      { weight: 1, arbitrary: fc.constantFrom('\n', '\r', '\r\r\n', '') },
    );
    // None of these asks for more bytes than come, or the gateway would rightly wait for them.
    const piece = fc.constantFrom(
      '5\r\n12345\r\n',
      '0\r\n\r\n',
      '0\r\n',
      '\r\n',
      '\n',
      'fffffffffffffffff\r\n',
      '5;x\r\n',
      '{"a":1}',
      SMUGGLED,
    );
    const body = fc.array(piece, { maxLength: 5 });
    const method = fc.constantFrom('GET', 'POST', 'DELETE', 'REPORT', 'HEAD', 'OPTIONS', 'PUT');

    // Nothing here says which of them are refused: only that the upstream never sees what was not judged.
    it('never makes the upstream see a request that was not judged', async () => {
      const head = fc.array(fc.tuple(line, end), { maxLength: 4 }).map((lines) => lines.flat().join(''));
      await fc.assert(
        fc.asyncProperty(method, head, body, async (name, lines, pieces) => {
          upstream.heads.length = 0;
          const responses = await attack(post(lines, pieces.join(''), name), [name, name, name, name], true);
          expect(responses.map(({ status }) => status).filter((status) => status >= 500)).toEqual([]);
          expect(upstream.heads.map(({ target }) => target).filter((target) => target !== '/v2/echo')).toEqual([]);
          expect(upstream.heads.length).toBeLessThanOrEqual(1);
          expect(upstream.requests.filter(({ verdict }) => !verdict.ok)).toEqual([]);
          expect(upstream.violations).toEqual([]);
        }),
        { numRuns: 200, endOnFailure: true },
      );
    }, 60_000);
  });

  describe('Expect', () => {
    // A proxy that forwards Expect, or answers 100 and then refuses, leaves a body on the connection that is read as the
    // next request. Here 100 comes from the gateway and Expect stays there.
    it('answers 100-continue itself and sends the upstream none of it', async () => {
      const client = await page.connect();
      client.send(post('Content-Length: 5\r\nExpect: 100-continue\r\n', '').replace(SESSION, page.cookie));
      expect((await client.head())?.status).toBe(100);
      client.send('12345');
      expect((await client.response('POST'))?.status).toBe(200);
      client.destroy();
      expect(upstream.requests.map(({ payload, verdict }) => [String(payload), verdict.why])).toEqual([
        ['12345', 'verified'],
      ]);
      expect(upstream.requests[0]?.text).not.toMatch(/expect/i);
    });

    it('refuses a request it would not take without asking for the body', async () => {
      const client = await page.connect();
      client.send(
        page.bytes('POST', '/nowhere', {
          headers: [
            ['Content-Length', String(SMUGGLED.length)],
            ['Expect', '100-continue'],
          ],
        }),
      );
      const response = await client.response('POST');
      expect(response?.status).toBe(404);
      expect(response?.interim).toEqual([]);
      // The client may send the body all the same or not: what comes next cannot be told, so the connection ends.
      expect(response?.header('connection')).toBe('close');
      client.send(SMUGGLED);
      await client.closed();
      expect(upstream.heads).toEqual([]);
    });

    it.each(['200-ok', '100-continue, x', 'x'])('refuses Expect: %s', async (value) => {
      const [refusal] = await attack(post(`Content-Length: 5\r\nExpect: ${value}\r\n`, '12345'));
      expect(refusal?.status).toBe(417);
      expect(upstream.requests).toEqual([]);
    });
  });
});

import { createHash, createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RawClient } from './raw-client.ts';
import { type StrictUpstream, startStrictUpstream } from './strict-upstream.ts';

const NOW = Date.UTC(2026, 2, 15, 1, 2, 3);
const DATE = '20260315T010203Z';

let upstream: StrictUpstream;
let client: RawClient;

beforeEach(async () => {
  upstream = await startStrictUpstream({ keypairs: { AKIA: 'secret' }, clock: () => NOW });
  client = await RawClient.connect(upstream.port);
});

afterEach(async () => {
  client.destroy();
  await upstream.close();
});

function signed(method: string, target: string, body = '', framing = `Content-Length: ${body.length}\r\n`): string {
  const hmac = (key: Buffer | string, text: string) => createHmac('sha256', key).update(text).digest();
  const host = `127.0.0.1:${upstream.port}`;
  const hash = createHash('sha256').update(body).digest('hex');
  const key = hmac(hmac('secret', '20260315'), host);
  const text = `${method}\n${target}\n${DATE}\nhost:${host}\ncontent-type:application/json\nx-service-version:v4.20190315\n${hash}`;
  const credential = `AKIA:${hmac(key, text).toString('hex')}`;
  return (
    `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nDate: ${DATE}\r\nContent-Type: application/json\r\n` +
    `X-Service-Version: v4.20190315\r\nAuthorization: Service signMethod=HMAC-SHA256, credential=${credential}\r\n${framing}\r\n`
  );
}

describe('the strict upstream', () => {
  it('accepts signed requests one after the other on one connection', async () => {
    for (const [method, body] of [
      ['GET', ''],
      ['POST', '{"a":1}'],
      ['DELETE', ''],
    ] as const) {
      client.send(signed(method, '/v2/x?', body), body);
      expect((await client.response(method))?.status).toBe(200);
    }
    expect(upstream.requests.map(({ method, connection }) => [method, connection])).toEqual([
      ['GET', 0],
      ['POST', 0],
      ['DELETE', 0],
    ]);
    expect(upstream.violations).toEqual([]);
  });

  it('reads a chunked body', async () => {
    client.send(signed('POST', '/v2', 'hello', 'Transfer-Encoding: chunked\r\n'), '2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n');
    expect((await client.response('POST'))?.status).toBe(200);
    expect(upstream.requests[0]?.payload.toString()).toBe('hello');
  });

  it('answers 401 to a signature that does not fit the bytes', async () => {
    client.send(signed('GET', '/v2/a').replace('/v2/a', '/v2/b'));
    expect((await client.response())?.status).toBe(401);
    expect(upstream.requests[0]?.verdict.ok).toBe(false);
  });

  const head = (fields: string) => `POST /v2 HTTP/1.1\r\nHost: a\r\n${fields}\r\n`;
  it.each([
    ['a bare LF', 'GET /v2 HTTP/1.1\nHost: a\r\n\r\n', 'bare-control'],
    ['obs-fold', head('X: a\r\n b\r\n'), 'obs-fold'],
    ['a space before the colon', head('X : a\r\n'), 'header'],
    ['two Hosts', head('Host: b\r\n'), 'host'],
    ['no Host', 'GET /v2 HTTP/1.1\r\nX: y\r\n\r\n', 'host'],
    ['an absolute-form target', 'GET http://a/v2 HTTP/1.1\r\nHost: a\r\n\r\n', 'target'],
    ['a fragment', 'GET /v2#x HTTP/1.1\r\nHost: a\r\n\r\n', 'target'],
    ['HTTP/1.0', 'GET /v2 HTTP/1.0\r\nHost: a\r\n\r\n', 'request-line'],
    ['both framings', head('Content-Length: 1\r\nTransfer-Encoding: chunked\r\n'), 'framing'],
    ['two equal lengths', head('Content-Length: 1\r\nContent-Length: 1\r\n'), 'framing'],
    ['a signed length', head('Content-Length: +1\r\n'), 'content-length'],
    ['another coding', head('Transfer-Encoding: gzip, chunked\r\n'), 'transfer-encoding'],
    ['a chunk extension', `${head('Transfer-Encoding: chunked\r\n')}1;x=y\r\na\r\n0\r\n\r\n`, 'chunk-size'],
    ['a trailer', `${head('Transfer-Encoding: chunked\r\n')}0\r\nX: y\r\n\r\n`, 'trailer'],
    [
      'a smuggled request',
      `${head('Content-Length: 0\r\n')}GET /v2/admin HTTP/1.1\r\nHost: a\r\n\r\n`,
      'bytes-behind-request',
    ],
  ])('records %s as a violation and closes', async (_, bytes, rule) => {
    client.send(bytes);
    await client.closed();
    expect(upstream.violations.map((violation) => violation.rule)).toEqual([rule]);
    expect(upstream.requests).toEqual([]);
  });
});

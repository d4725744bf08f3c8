import { afterEach, describe, expect, it } from 'vitest';
import { FrontEnd } from '../kit/front-end.ts';
import { type StartOptions, startGateway, type TestGateway } from '../kit/gateway.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

/*
 * The way back: an upstream that is broken or hostile must not be able to give one browser another one's answer, or to
 * write a second answer into the first.
 */

let upstream: StrictUpstream;
let gateway: TestGateway;
let page: FrontEnd;

/** All requests share one upstream connection, so what an answer leaves behind on it meets the next request. */
async function start(respond: NonNullable<StartOptions['respond']>): Promise<void> {
  ({ upstream, gateway } = await startGateway({ respond, upstream: { connections: 1 } }));
  page = await FrontEnd.signIn(gateway.port);
}

afterEach(async () => {
  await gateway.close();
  await upstream.close();
});

const POISON = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{"poisoned":true}';

describe('response queue poisoning', () => {
  // What stands behind the end of an answer is taken for the next one: the next browser gets what an attacker wrote.
  it.each<[string, string, string]>([
    ['behind a length', 'GET', `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}${POISON}`],
    [
      'behind the last chunk',
      'GET',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n${POISON}`,
    ],
    ['behind a 204', 'GET', `HTTP/1.1 204 No Content\r\n\r\n${POISON}`],
    ['behind a 304', 'GET', `HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n${POISON}`],
    [
      'as the body of an answer to HEAD',
      'HEAD',
      `HTTP/1.1 200 OK\r\nContent-Length: ${POISON.length}\r\n\r\n${POISON}`,
    ],
    [
      'under two framings',
      'GET',
      `HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${POISON}`,
    ],
    ['under two lengths', 'GET', `HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n${POISON}`],
    [
      'behind a bad chunk',
      'GET',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n${POISON}`,
    ],
  ])('never gives the next request the bytes %s', async (_, method, bytes) => {
    await start(async ({ target }, answer) => {
      if (target !== '/v2/attack') return;
      await answer.raw(bytes);
      await answer.gone();
    });
    const attacker = await page.connect();
    attacker.send(page.bytes(method, '/v2/attack'));
    const victim = await page.connect();
    await upstream.waitForRequest();
    const answer = await page.fetch('GET', '/v2/victim', {}, victim);
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ target: '/v2/victim' });
    attacker.destroy();
    victim.destroy();
  });
});

describe('response splitting', () => {
  // A line end inside a value writes the rest of the value as headers of its own, or as an answer of its own.
  it.each([
    ['a bare LF in a value', 'X-A: b\nSet-Cookie: session=planted'],
    ['a bare CR in a value', 'X-A: b\rSet-Cookie: session=planted'],
    ['NUL in a value', 'X-A: b\0c'],
    ['a folded value', 'X-A: b\r\n Set-Cookie: session=planted'],
    ['a space before the colon', 'Set-Cookie : session=planted'],
    ['a name that is no token', 'X A: b'],
  ])('is not relayed: %s', async (_, line) => {
    await start(async (_request, answer) => {
      await answer.raw(`HTTP/1.1 200 OK\r\n${line}\r\nContent-Length: 2\r\n\r\n{}`);
      await answer.gone();
    });
    const client = await page.connect();
    const response = await client.send(page.bytes('POST', '/v2/x', { body: '{}' })).response('POST');
    expect(response?.status).toBe(502);
    expect(response?.json()).toMatchObject({ type: expect.stringMatching(/\/upstream-failed$/) });
    expect(response?.headers('set-cookie')).toEqual([]);
    client.destroy();
  });

  it('is not done by a reason phrase', async () => {
    await start((_, answer) => answer.raw('HTTP/1.1 200 O\u0001K\u00e9\r\nContent-Length: 2\r\n\r\n{}'));
    const client = await page.connect();
    const response = await client.send(page.bytes('POST', '/v2/x', { body: '{}' })).response('POST');
    expect([200, 502]).toContain(response?.status);
    client.destroy();
  });
});

describe('bytes that are no request, behind one whose answer is under way', () => {
  // Answered on the spot, the refusal would be written into the middle of the other answer.
  it('are not answered inside that answer', async () => {
    const resume = Promise.withResolvers<void>();
    await start(async (_, answer) => {
      const body = await answer.chunked();
      await body.chunk('first');
      await resume.promise;
      await body.chunk('second');
      await body.end();
    });
    const client = await page.connect();
    client.send(page.bytes('GET', '/v2/x'));
    expect((await client.head())?.status).toBe(200);
    expect(String(await client.chunk())).toBe('first');
    client.send('NONSENSE\r\n\r\n');
    resume.resolve();
    const rest = String(await client.closed());
    expect(rest).toMatch(/^(?:6\r\nsecond\r\n0\r\n\r\n(?:HTTP\/1\.1 400 [\s\S]*)?)?$/);
    client.destroy();
  });

  it('do not take the place of that answer', async () => {
    const resume = Promise.withResolvers<void>();
    await start(async (_, answer) => {
      await resume.promise;
      await answer.json(200, { done: true });
    });
    const client = await page.connect();
    client.send(page.bytes('POST', '/v2/x', { body: '{}' }));
    await upstream.waitForRequest();
    client.send('NONSENSE\r\n\r\n');
    resume.resolve();
    const response = await client.response('POST');
    // Its own answer or none: the refusal of what came behind it would say the POST was never done.
    expect([200, undefined]).toContain(response?.status);
    client.destroy();
  });
});

import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { FrontEnd, HOST } from '../kit/front-end.ts';
import { type StartOptions, startGateway, type TestGateway } from '../kit/gateway.ts';
import { RawClient } from '../kit/raw-client.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

/** What only bytes of HTTP/1 can do. */
let upstream: StrictUpstream;
let gateway: TestGateway;
let page: FrontEnd;

async function start(options: StartOptions): Promise<void> {
  ({ upstream, gateway } = await startGateway(options));
  page = await FrontEnd.signIn(gateway.port);
}

afterEach(async () => {
  await gateway.close();
  await upstream.close();
});

const problem = (code: string) => ({ type: expect.stringMatching(new RegExp(`/${code}$`)) });

describe('an answer that breaks on its way', () => {
  // HTTP/1.0 has no chunks: there the end of the connection is the end of the answer, so it must not be a clean one.
  it('breaks the connection of an HTTP/1.0 client instead of closing it', async () => {
    const seen = Promise.withResolvers<void>();
    await start({
      respond: async (_, answer) => {
        await (await answer.chunked()).chunk('only this');
        await seen.promise;
        answer.reset();
      },
    });
    const client = await RawClient.connect(gateway.port);
    client.send(page.bytes('GET', '/v2/x').toString('latin1').replace('HTTP/1.1', 'HTTP/1.0'));
    expect((await client.head())?.status).toBe(200);
    expect(String(await client.bytes())).toContain('only this');
    const broken = once(client.socket, 'error');
    seen.resolve();
    expect(await broken).toMatchObject([{ code: 'ECONNRESET' }]);
  });
});

describe('a client that is too slow', () => {
  // Slowloris: connections that never finish a request, until there is no room for anybody else's.
  it.each([
    ['nothing but the start of a request line', 'GET /v2'],
    ['headers without an end', `GET /v2/x HTTP/1.1\r\nHost: ${HOST}\r\nX-Pad: `],
  ])('with %s is cut off with 408', async (_, bytes) => {
    await start({ listen: { headerTimeout: '300ms', requestTimeout: '600ms' } });
    const client = await RawClient.connect(gateway.port);
    client.send(bytes);
    const response = await client.response();
    expect(response?.status).toBe(408);
    expect(response?.json()).toMatchObject(problem('request-timeout'));
    expect(await client.closed()).toHaveLength(0);
  });
});

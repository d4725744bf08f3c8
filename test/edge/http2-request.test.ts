import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { Http2Request } from '../../src/edge/http2/request.ts';
import { ClientGone, limitedBody } from '../../src/forward/body.ts';
import { ERROR, FrameClient } from '../kit/http2-frames.ts';

const read = (name: string) => readFileSync(new URL(`../kit/tls/${name}`, import.meta.url));

// Whoever reads a body takes its `end` for the client's word that this is all of it.
it.each(Object.entries({ NO_ERROR: ERROR.NO_ERROR, CANCEL: ERROR.CANCEL }))(
  'a body that is broken off with %s has no end, and is not complete',
  async (_, code) => {
    const server = createSecureServer({
      cert: read('loopback.pem'),
      key: read('loopback.key'),
      Http2ServerRequest: Http2Request as never,
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const client = await FrameClient.connect((server.address() as AddressInfo).port);
    onTestFinished(() => client.destroy());
    const asked = once(server, 'request');
    client.headers(
      1,
      [
        [':method', 'POST'],
        [':scheme', 'https'],
        [':authority', 'console.test'],
        [':path', '/'],
      ],
      { endStream: false },
    );
    const [request] = (await asked) as [Http2Request];
    const seen: string[] = [];
    request.on('end', () => seen.push('end'));
    const data = once(request, 'data');
    client.data(1, 'half', false);
    expect(String((await data)[0])).toBe('half');
    client.reset(1, code);
    await once(request, 'close');
    await new Promise((resolve) => setImmediate(resolve));
    expect([seen, request.complete]).toEqual([[], false]);
    // Also for who comes to read it only now, because a session had to be looked up first.
    await expect(once(limitedBody(request as never, 100), 'end')).rejects.toThrow(ClientGone);
  },
);

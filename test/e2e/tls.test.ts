import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { FrontEnd, HOST } from '../kit/front-end.ts';
import { OPAQUE, startGateway, type TestGateway } from '../kit/gateway.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

/** A key and its self-signed certificate, which the gateway trusts while these tests run unless it is told not to. */
function identity(name: 'loopback' | 'elsewhere') {
  const read = (file: string) => readFileSync(new URL(`../kit/tls/${file}`, import.meta.url), 'utf8');
  return { key: read(`${name}.key`), cert: read(`${name}.pem`) };
}

const trusted = getCACertificates('default');
let upstream: StrictUpstream;
let gateway: TestGateway;

beforeAll(() => setDefaultCACertificates([...trusted, identity('loopback').cert, identity('elsewhere').cert]));
afterAll(() => setDefaultCACertificates(trusted));

afterEach(async () => {
  await gateway.close();
  await upstream.close();
});

async function open(page: FrontEnd): Promise<number> {
  const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/v2/stream`, {
    headers: { Host: HOST, Cookie: page.cookie, 'Sec-Fetch-Site': 'same-origin' },
  });
  const status = await Promise.race([
    once(socket, 'open').then(() => 101),
    once(socket, 'unexpected-response').then(([, response]) => (response as { statusCode: number }).statusCode),
  ]);
  socket.on('error', () => {}).terminate();
  return status;
}

describe('an upstream on https', () => {
  it('gets a large body as it was sent', async () => {
    ({ upstream, gateway } = await startGateway({ tls: identity('loopback') }));
    const page = await FrontEnd.signIn(gateway.port);
    const body = randomBytes(3 * 1024 * 1024);
    const response = await page.fetch('POST', '/v2/x', { headers: [['Content-Type', OPAQUE]], body });
    expect(response.status).toBe(200);
    expect(upstream.requests.at(-1)?.payload.equals(body)).toBe(true);
  });

  it('gets signed requests and WebSocket handshakes with its own authority', async () => {
    ({ upstream, gateway } = await startGateway({
      tls: identity('loopback'),
      respond: async ({ rawHeaders }, answer) => {
        if (rawHeaders.some(([name]) => name.toLowerCase() === 'upgrade')) await answer.webSocket();
      },
    }));
    const page = await FrontEnd.signIn(gateway.port);
    expect((await page.fetch('POST', '/v2/x?', { body: '{}' })).status).toBe(200);
    expect(await open(page)).toBe(101);
    expect(upstream.requests.map(({ target, verdict }) => [target, verdict.why])).toEqual([
      ['/v2/x?', 'verified'],
      ['/v2/stream', 'verified'],
    ]);
    expect(upstream.requests[0]?.text).toContain(`127.0.0.1:${upstream.port}\r\n`);
  });

  // A signature is a credential for fifteen minutes: whoever sits in between must not get to see one.
  it('gets nothing when its certificate is for another name', async () => {
    ({ upstream, gateway } = await startGateway({ tls: identity('elsewhere') }));
    const page = await FrontEnd.signIn(gateway.port);
    const response = await page.fetch('POST', '/v2/x', { body: '{}' });
    expect(response.status).toBe(502);
    expect(response.json()).toMatchObject({ type: expect.stringMatching(/\/upstream-unreachable$/) });
    expect(await open(page)).toBe(502);
    expect(upstream.heads).toEqual([]);
  });

  it('gets nothing when its certificate is nobody’s', async () => {
    setDefaultCACertificates(trusted);
    ({ upstream, gateway } = await startGateway({ tls: identity('loopback') }));
    const page = await FrontEnd.signIn(gateway.port);
    const response = await page.fetch('POST', '/v2/x', { body: '{}' });
    expect(response.status).toBe(502);
    expect(response.json()).toMatchObject({ type: expect.stringMatching(/\/upstream-unreachable$/) });
    expect(await open(page)).toBe(502);
    expect(upstream.heads).toEqual([]);
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { createLog } from '../../src/observe/log.ts';
import { openEvent } from '../../src/observe/request-event.ts';
import { Secret } from '../../src/secret.ts';
import { sessionKey } from '../../src/session/sessions.ts';
import { Keypair } from '../../src/tenant.ts';
import { FrontEnd } from '../kit/front-end.ts';
import { KEYPAIR, startGateway, type TestGateway } from '../kit/gateway.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

// The hash is of the password below, made by `countersign hash-password`.
const PASSWORD = 'countersign-demo';
const HASH = '$argon2id$v=19$m=19456,t=2,p=1$eRPpWxGnCvSuAjBZJxPXkA$cTJoyKY9UN8nQtFcqoeeywTmJkBADxxcaVBJA5+2VoA';

let upstream: StrictUpstream;
let gateway: TestGateway;

afterEach(async () => {
  await gateway.close();
  await upstream.close();
});

/** Waits until the log has a line that matches; requests are logged once their connection has seen the last byte. */
const logged = (pattern: RegExp) => expect.poll(() => gateway.log.join('')).toMatch(pattern);

const lines = () => gateway.log.map((line) => JSON.parse(line) as Record<string, unknown>);

describe('the request log', () => {
  it('has one line per request, with what an operator asks for', async () => {
    ({ upstream, gateway } = await startGateway());
    const page = await FrontEnd.signIn(gateway.port);
    const response = await page.fetch('POST', '/v2/kernel/create?lang=python', { body: '{"a":1}' });
    await logged(/"path":"\/v2\/kernel\/create"/);

    const key = sessionKey(page.cookie.split('=')[1] ?? '');
    const requests = lines().filter(({ msg }) => msg === 'request');
    expect(requests).toHaveLength(2);
    expect(requests[1]).toMatchObject({
      requestId: response.header('x-request-id'),
      kind: 'http',
      tenant: 'acme',
      client: '127.0.0.1',
      session: key.slice(0, 8),
      role: 'visitor',
      method: 'POST',
      path: '/v2/kernel/create',
      route: '/v2',
      status: 200,
      endpoint: upstream.origin,
      bytesIn: 7,
      bytesOut: response.body.length,
    });
    expect(requests[1]?.['ms']).toBeGreaterThanOrEqual(Number(requests[1]?.['upstreamMs']));
  });

  it.each(['listener', 'hono'] as const)('counts the bytes of every body, whoever made it (%s)', async (door) => {
    const site = mkdtempSync(join(tmpdir(), 'countersign-site-'));
    onTestFinished(() => rmSync(site, { recursive: true }));
    writeFileSync(join(site, 'index.html'), 'x'.repeat(100_000));
    ({ upstream, gateway } = await startGateway({ door, tenant: { site } }));
    const page = await FrontEnd.signIn(gateway.port);
    const sent = [
      await page.fetch('GET', '/v2'),
      await page.fetch('HEAD', '/v2'),
      await page.fetch('GET', '/'),
      await page.fetch('HEAD', '/'),
      await page.fetch('GET', '/-/session'),
      await page.fetch('HEAD', '/-/session'),
      await page.fetch('GET', '/-/nothing'),
      await page.fetch('GET', '/v2/../x'),
      await page.fetch('PUT', '/v2/x', { body: 'x', headers: [['Content-Type', 'text/plain']] }),
      await page.fetch('OPTIONS', '/v2/x'),
    ].map(({ status, body }) => ({ status, bytesOut: body.length }));
    expect(sent.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 404, 400, 415, 204]);
    const told = () =>
      lines()
        .filter(({ method }) => method !== 'POST')
        .map(({ status, bytesOut }) => ({ status, bytesOut }));
    const sorted = (answers: object[]) => answers.map((answer) => JSON.stringify(answer)).sort();
    await expect.poll(() => sorted(told())).toEqual(sorted(sent));
  });

  it('says why a request was refused or failed', async () => {
    ({ upstream, gateway } = await startGateway({
      upstream: { timeouts: { headers: '200ms' } },
      respond: (_, answer) => answer.hang(),
    }));
    const page = await FrontEnd.signIn(gateway.port);
    await page.fetch('GET', '/nowhere');
    await page.fetch('GET', '/v2');
    await logged(/upstream-timeout/);
    expect(lines().slice(-2)).toMatchObject([
      { status: 404, code: 'no-route' },
      { level: 'error', status: 504, code: 'upstream-timeout', reason: 'UPSTREAM_HEADERS_TIMEOUT' },
    ]);
  });
});

describe('no secret reaches the log', () => {
  it('whatever a browser sends, whatever the upstream answers, whatever fails', async () => {
    const users = { ada: { password: HASH, roles: ['visitor'] } };
    ({ upstream, gateway } = await startGateway({
      login: { password: { users } },
      respond: (request, answer) =>
        request.target.includes('broken')
          ? answer.reset()
          : answer.json(200, { secret_key: 'upstream-body-secret' }, [
              ['Set-Cookie', 'upstream=upstream-cookie-secret'],
            ]),
    }));
    const anonymous = new FrontEnd(gateway.port, '');
    const credentials = { method: 'password', username: 'ada', password: PASSWORD };
    const signedIn = await anonymous.fetch('POST', '/-/session', { body: JSON.stringify(credentials) });
    const page = new FrontEnd(gateway.port, signedIn.header('set-cookie')?.split(';')[0] ?? '');
    const id = page.cookie.split('=')[1] ?? 'missing';
    const headers = [
      ['Authorization', 'Bearer browser-authorization-secret'],
      ['Cookie', 'other=other-cookie-secret'],
      ['X-Service-Version', 'browser-version-secret'],
    ] as const;
    await page.fetch('GET', '/v2?token=query-secret', { headers });
    await page.fetch('POST', '/v2/x', { headers, body: '{"password":"body-secret"}' });
    await page.fetch('GET', '/v2/broken?token=query-secret', { headers });
    await page.fetch('GET', '/nowhere?token=query-secret', { headers });
    await page.fetch('POST', '/-/session', {
      body: JSON.stringify({ method: 'password', username: 'ada', password: 'wrong-password-secret' }),
    });
    await page.fetch('POST', '/-/session', { body: '{"password":"malformed-secret' });
    const noise = await page.connect();
    noise.send(
      Buffer.from(
        `GET /v2 HTTP/1.1\r\nHost: a\r\nCookie: ${page.cookie}\r\nAuthorization: noise-secret\r\n broken\r\n\r\n`,
      ),
    );
    await noise.closed();
    await logged(/"status":400,"code":"malformed-request"/);

    const text = gateway.log.join('');
    const signatures = upstream.requests.flatMap(({ rawHeaders }) =>
      rawHeaders
        .filter(([name]) => name.toLowerCase() === 'authorization')
        .map(([, value]) => value.trim().split(':')[1] ?? ''),
    );
    expect(signatures.length).toBeGreaterThanOrEqual(2);
    for (const secret of [
      KEYPAIR.secretKey,
      PASSWORD,
      HASH.split('$')[5] ?? '',
      id,
      sessionKey(id),
      ...signatures,
      '-secret',
    ]) {
      expect(text).not.toContain(secret);
    }
  });

  it('even when a whole keypair or an error that holds one is logged', () => {
    const written: string[] = [];
    const log = createLog('info', { write: (line: string) => void written.push(line) });
    const keypair = new Keypair('AKIAVISITOR', new Secret('the-secret-key'));
    log.info({ keypair, nested: { keypair, secret: keypair.secretKey } }, `signed with ${keypair}`);
    log.error({ err: new Error(`cannot use ${keypair.secretKey}`, { cause: keypair }) }, 'failed');
    log.request(openEvent('id', 'http', 'GET', '127.0.0.1', 0));
    expect(written).toHaveLength(3);
    expect(written.join('')).toContain('AKIAVISITOR');
    expect(written.join('')).not.toContain('the-secret-key');
  });
});

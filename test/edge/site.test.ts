import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { folderOf } from '../config/fixture.ts';
import { FrontEnd } from '../kit/front-end.ts';
import { DOORS, startGateway, type TestGateway } from '../kit/gateway.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

let upstream: StrictUpstream;
let gateway: TestGateway;

async function start(door: 'listener' | 'hono'): Promise<FrontEnd> {
  const folder = folderOf({ 'outside.txt': 'outside-secret' });
  const site = join(folder, 'site');
  mkdirSync(join(site, '.git'), { recursive: true });
  const files = { 'index.html': '<h1>front page</h1>', 'app.js': 'run()', '.env': 'secret', '.git/config': 'secret' };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(site, name), text);
  const tenant = { site, siteHeaders: { 'Content-Security-Policy': "default-src 'self'" } };
  ({ upstream, gateway } = await startGateway({ door, tenant }));
  return new FrontEnd(gateway.port, '');
}

afterEach(async () => {
  await gateway.close();
  await upstream.close();
});

const HTML = [['Accept', 'text/html']] as const;

describe.each(DOORS)('the site, through the door %s', (door) => {
  it('serves files without a session, typed, not sniffable, with the operator’s headers', async () => {
    const page = await start(door);
    const index = await page.fetch('GET', '/', { headers: HTML });
    expect([index.status, index.header('content-type'), String(index.body)]).toEqual([
      200,
      'text/html; charset=utf-8',
      '<h1>front page</h1>',
    ]);
    expect(index.header('content-security-policy')).toBe("default-src 'self'");
    const script = await page.fetch('GET', '/app.js');
    expect([script.header('content-type'), script.header('x-content-type-options')]).toEqual([
      'text/javascript; charset=utf-8',
      'nosniff',
    ]);
  });

  it('answers a file that has not changed with 304', async () => {
    const page = await start(door);
    const etag = (await page.fetch('GET', '/app.js')).header('etag') ?? '';
    expect((await page.fetch('GET', '/app.js', { headers: [['If-None-Match', etag]] })).status).toBe(304);
  });

  it('gives the front end’s own pages index.html, and a missing script 404', async () => {
    const page = await start(door);
    expect(String((await page.fetch('GET', '/groups/42', { headers: HTML })).body)).toBe('<h1>front page</h1>');
    const missing = await page.fetch('GET', '/missing.js', { headers: [['Accept', '*/*']] });
    expect([missing.status, missing.json()]).toMatchObject([404, { type: expect.stringMatching(/\/no-route$/) }]);
  });

  it('never stands in for a route: that is 401 without a session, page or not', async () => {
    const page = await start(door);
    expect((await page.fetch('GET', '/v2/x', { headers: HTML })).status).toBe(401);
  });

  it('takes no method that writes', async () => {
    const page = await start(door);
    expect((await page.fetch('POST', '/app.js', { body: '{}' })).status).toBe(404);
  });

  // A deployment copies more than it means to: .env and .git are the first paths any scanner tries.
  it.each([
    '/.env',
    '/.git/config',
    '/%2eenv',
    '/%2Egit/config',
    '/x/../.env',
    '/..%2foutside.txt',
    '/%2e%2e/outside.txt',
    '//outside.txt',
  ])('never serves %s', async (target) => {
    const page = await start(door);
    const response = await page.fetch('GET', target, { headers: HTML });
    expect([400, 404]).toContain(response.status);
    expect(String(response.body)).not.toMatch(/secret|front page/);
  });
});

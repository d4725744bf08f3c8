import { once } from 'node:events';
import { get } from 'node:http';
import { Redis } from 'ioredis';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openEvent } from '../../src/observe/request-event.ts';
import { Secret } from '../../src/secret.ts';
import { openStore } from '../../src/session/open-store.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { FrontEnd } from '../kit/front-end.ts';
import { KEYPAIR, startGateway, type TestGateway } from '../kit/gateway.ts';
import { startOperator, type TestOperator } from '../kit/operator.ts';
import { startRedis } from '../kit/redis.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';
import { launchChromium } from './chromium.ts';
import { witness } from './witness.ts';

const TOKEN = 'an-operator-token-of-some-length';
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true };
/** A minute's figures leave out the second that has not passed yet. */
const SOON = { timeout: 15_000 };

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());

let upstream: StrictUpstream;
let gateway: TestGateway;
let operator: TestOperator;
beforeEach(async () => {
  ({ upstream, gateway } = await startGateway({
    respond: (request, answer) => {
      if (request.target === '/v2/failing') return answer.json(500, { title: 'sorry' });
      if (request.target === '/v2/gone') return answer.send(502, [['Content-Type', 'text/html']], 'nobody is there');
      const early = new Date(Date.now() + 20 * 60_000).toUTCString();
      if (request.target === '/v2/early') return answer.json(200, {}, [['Date', early]]);
    },
  }));
  operator = await startOperator(gateway.watched);
});
afterEach(async () => {
  await operator.close();
  await gateway.close();
  await upstream.close();
});

async function openStatus(options: BrowserContextOptions = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const seen = await witness(page);
  await page.goto(operator.origin);
  return { page, seen, close: () => context.close() };
}

const tile = (page: Page, name: string) => page.locator('.tile', { hasText: name });
const text = async (page: Page, selector: string) => (await page.locator(selector).textContent()) ?? '';

describe('the status page', () => {
  it('shows the figures of what was sent, live, without a reload', async () => {
    const { page, seen, close } = await openStatus();
    await page.getByText('All is well').waitFor();
    await tile(page, 'Requests').getByText('0 since start').waitFor();

    const front = await FrontEnd.signIn(gateway.port);
    for (let i = 0; i < 7; i++) await front.fetch('GET', '/v2');
    for (let i = 0; i < 3; i++) await front.fetch('GET', '/nowhere');
    for (let i = 0; i < 2; i++) await front.fetch('GET', '/v2/failing');

    await tile(page, 'Requests').getByText('13 since start').waitFor(SOON);
    await tile(page, 'Failed').getByText('2 since start').waitFor(SOON);
    await tile(page, 'Refused').getByText('3 since start').waitFor(SOON);
    await tile(page, 'Failed').getByText('15%').waitFor(SOON);
    await tile(page, 'Refused').getByText('23%').waitFor(SOON);
    await page.getByText('15% of the last minute’s requests failed (2 of 13).').waitFor(SOON);
    await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
    expect(await page.title()).toBe('Needs attention · Countersign status');

    expect(await text(page, '#refusals')).toBe('no-route3');
    expect(await text(page, '#keypairs')).toContain('acme · visitor29,999 of 30,000');
    expect(await page.getByRole('meter', { name: 'Quota left, acme visitor' }).getAttribute('aria-valuenow')).toBe(
      '29999',
    );
    expect(await text(page, '#endpoints')).toContain(`${upstream.origin}up`);
    expect(await text(page, '#endpoints')).toContain('9 answered · 0 lost');
    expect(await page.locator('#failures tbody tr').count()).toBe(2);
    const logged = gateway.log.map((line) => JSON.parse(line) as { status: number; requestId: string });
    for (const { requestId } of logged.filter(({ status }) => status === 500)) {
      expect(await text(page, '#failures')).toContain(requestId);
    }
    await expect.poll(() => text(page, '#tenants tbody'), SOON).toMatch(/acme.*23%.*15%.*1$/);
    expect(seen.complaints).toEqual([]);
    await close();
  });

  it('draws what was sent: bars for the requests and lines for their latency', async () => {
    const front = await FrontEnd.signIn(gateway.port);
    await front.fetch('GET', '/v2');
    await front.fetch('GET', '/nowhere');
    const { page, close } = await openStatus();
    await page.locator('#traffic rect[data-series="ok"]').first().waitFor(SOON);
    await page.locator('#traffic rect[data-series="client"]').first().waitFor(SOON);
    expect(await page.locator('#traffic rect[data-series="server"]').count()).toBe(0);
    await page
      .locator('#latency [data-series="p99"]:not(li)')
      .first()
      .waitFor({ state: 'attached', ...SOON });

    // By keyboard: the newest column that has something in it says how much.
    await page.locator('#traffic .plot').focus();
    await page.keyboard.press('End');
    for (let i = 0; i < 12 && !(await text(page, '#traffic .unseen')).includes('3 requests'); i++) {
      await page.keyboard.press('ArrowLeft');
    }
    expect(await text(page, '#traffic .unseen')).toMatch(/\d+ s ago.*3 requests, 1 4xx, 0 5xx/);
    await close();
  });

  it('says in words what is broken, and when it is well again', async () => {
    const { page, close } = await openStatus();
    await page.getByText('All is well').waitFor();
    operator.phase = 'draining';
    await page.getByText('The gateway is draining').waitFor(SOON);
    operator.phase = 'ready';
    await page.getByText('All is well').waitFor(SOON);
    await upstream.close();
    await page.getByText('acme: no upstream endpoint can be reached').waitFor({ timeout: 20_000 });
    await close();
  });

  it('says that an endpoint is out of use', async () => {
    const { page, seen, close } = await openStatus();
    await page.getByText('All is well').waitFor();
    const front = await FrontEnd.signIn(gateway.port);
    for (let i = 0; i < 5; i++) await front.fetch('POST', '/v2/gone', { body: '{}' });
    await page.getByText('acme: every upstream endpoint fails and is out of use.').waitFor(SOON);
    expect(await text(page, '#endpoints')).toContain('out of use');
    expect(seen.complaints).toEqual([]);
    await close();
  });

  it('says that the clocks do not agree, and that requests are signed in the upstream’s time', async () => {
    const { page, close } = await openStatus();
    await page.getByText('All is well').waitFor();
    await (await FrontEnd.signIn(gateway.port)).fetch('GET', '/v2/early');
    await page.getByText('Requests are signed in its time.').waitFor(SOON);
    await close();
  });

  it('says that it is no longer live when the gateway is gone', async () => {
    const { page, close } = await openStatus();
    await page.getByText('All is well').waitFor();
    await operator.close();
    await page.getByText(/No answer since \d\d:\d\d:\d\d/).waitFor(SOON);
    await close();
    operator = await startOperator(gateway.watched);
  });

  it('shows markup as text, whoever sent it', async () => {
    const event = openEvent('0'.repeat(32), 'http', '<b>', '127.0.0.1', Date.now());
    const markup = { tenant: '<img src=x onerror=alert(1)>', reason: '<script>alert(1)</script>' };
    gateway.watched.observers.statistics.request({ ...event, status: 500, ...markup });
    const { page, seen, close } = await openStatus();
    await page.getByText('<script>alert(1)</script>').waitFor(SOON);
    expect(await page.locator('#board img, #board script, #board td b').count()).toBe(0);
    expect(seen.complaints).toEqual([]);
    await close();
  });

  it.each([
    { name: 'phone, light', options: { ...PHONE, colorScheme: 'light' } as const },
    { name: 'phone, dark', options: { ...PHONE, colorScheme: 'dark' } as const },
    { name: 'tablet', options: { viewport: { width: 820, height: 1100 } } },
    { name: 'desktop, dark', options: { viewport: { width: 1360, height: 900 }, colorScheme: 'dark' } as const },
  ])('fits: $name', async ({ options }) => {
    const front = await FrontEnd.signIn(gateway.port);
    await front.fetch('GET', '/v2/failing');
    const { page, seen, close } = await openStatus(options);
    await page.locator('#failures tbody tr').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    expect(await page.evaluate('matchMedia("(prefers-color-scheme: dark)").matches')).toBe(
      (options as { colorScheme?: string }).colorScheme === 'dark',
    );
    expect(seen.complaints).toEqual([]);
    await close();
  });

  it('comes near no secret, asks nobody else for anything, and sets no cookie', async () => {
    const front = await FrontEnd.signIn(gateway.port);
    await front.fetch('GET', '/v2');
    const { page, seen, close } = await openStatus();
    await page.getByText('29,999 of 30,000').waitFor();
    const everything = await seen.everything();
    expect(everything).toContain(KEYPAIR.accessKey);
    expect(everything).not.toContain(KEYPAIR.secretKey);
    expect(everything).not.toContain(front.cookie.split('=')[1]);
    expect(seen.origins()).toEqual([operator.origin]);
    expect(await page.context().cookies()).toEqual([]);
    await close();
  });
});

describe('the status page behind a token', () => {
  beforeEach(async () => {
    await operator.close();
    operator = await startOperator(gateway.watched, { settings: { token: new Secret(TOKEN) } });
  });

  it('asks for it once, keeps it for this tab only, and forgets it when told', async () => {
    const { page, seen, close } = await openStatus();
    await page.getByRole('heading', { name: 'Operator token' }).waitFor();
    expect(await page.locator('#board').isVisible()).toBe(false);
    // The field has the focus: typing and Enter are enough.
    await page.keyboard.type(TOKEN);
    await page.keyboard.press('Enter');
    await page.getByText('All is well').waitFor();
    await page.reload();
    await page.getByText('All is well').waitFor();
    expect(seen.complaints).toEqual([]);
    expect(await page.evaluate('localStorage.length')).toBe(0);
    expect(page.url()).not.toContain(TOKEN);

    const other = await page.context().newPage();
    await other.goto(operator.origin);
    await other.getByRole('heading', { name: 'Operator token' }).waitFor();

    await page.getByRole('button', { name: 'Forget token' }).click();
    await page.getByRole('heading', { name: 'Operator token' }).waitFor();
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}');
    await close();
  });

  it('says so when the token is wrong, and asks again', async () => {
    const { page, close } = await openStatus();
    await page.getByLabel('Token', { exact: true }).fill('wrong');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByText('The gateway does not know this token.').waitFor();
    expect(await page.locator('#board').isVisible()).toBe(false);
    await page.getByLabel('Token', { exact: true }).fill(TOKEN);
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByText('All is well').waitFor();
    await close();
  });
});

it('says how much the near cache spares, and that it is bypassed', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const admin = new Redis(redis.url);
  onTestFinished(() => admin.disconnect());
  const nearCache = { entries: 100, maxAge: 30_000 };
  const store = openStore(redis.url, { clock: Date.now, sealKeys: [], nearCache });
  onTestFinished(() => store.close());
  const sessions = new Sessions({ store, clock: Date.now });
  await expect.poll(() => store.nearCache?.up, SOON).toBe(true);
  const { id } = await sessions.open({
    tenant: 'acme',
    subject: 'ada',
    roles: ['admin'],
    method: 'password',
    lifetime: { idle: 60_000, absolute: 60_000 },
  });
  for (let i = 0; i < 4; i++) expect(await sessions.resolve(id, 'acme')).toBeDefined();

  await operator.close();
  operator = await startOperator(gateway.watched, { store });
  const { page, seen, close } = await openStatus();
  await page.getByText('All is well').waitFor();
  expect(await text(page, '#gateway')).toContain('Near cache75% of sessions found · 1 kept');

  await admin.acl('SETUSER', 'default', '-client|tracking');
  await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await page.getByText('The near cache is bypassed: every request asks Redis for its session.').waitFor(SOON);
  expect(await text(page, '#gateway')).toContain('Near cachebypassed');
  expect(seen.complaints).toEqual([]);
  await close();
});

it('serves the page’s files as what they are, and nothing beside them', async () => {
  const status = async (path: string) => {
    const [response] = await once(get(`${operator.origin}${path}`), 'response');
    response.resume();
    return [response.statusCode, response.headers['content-type']];
  };
  expect(await status('/')).toEqual([200, 'text/html; charset=utf-8']);
  expect(await status('/page/main.js')).toEqual([200, 'text/javascript; charset=utf-8']);
  expect(await status('/page/style.css')).toEqual([200, 'text/css; charset=utf-8']);
  for (const path of ['/page/', '/page/none.js', '/page/..%2fapp.ts', '/page/../app.ts', '/page/%2e%2e/app.ts']) {
    expect([path, ...(await status(path))]).toEqual([path, 404, 'application/problem+json']);
  }
});

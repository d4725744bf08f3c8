import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { folderOf } from '../config/fixture.ts';
import { freePort } from '../kit/free-port.ts';
import { KIT_TLS, type StartOptions, startGateway } from '../kit/gateway.ts';
import { launchChromium } from './chromium.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

/** A page of the tenant, signed in, in a browser that takes the test's certificate for good. */
async function openPage(respond: StartOptions['respond']): Promise<{ page: Page; origin: string }> {
  const port = await freePort();
  const origin = `https://localhost:${port}`;
  const { gateway, upstream } = await startGateway({
    port,
    listen: { tls: KIT_TLS },
    tenant: { origins: [origin], site: folderOf({ 'index.html': '<!doctype html><title>page</title>' }) },
    ...(respond && { respond }),
  });
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  onTestFinished(async () => {
    await context.close();
    await gateway.close();
    await upstream.close();
  });
  const page = await context.newPage();
  await page.goto(origin);
  const status = await page.evaluate(async () => {
    const headers = { 'Content-Type': 'application/json' };
    return (await fetch('/-/session', { method: 'POST', headers, body: '{"method":"visitor"}' })).status;
  });
  expect(status).toBe(201);
  return { page, origin };
}

it('a browser speaks HTTP/2 to the gateway, and its requests get through side by side', async () => {
  const { page } = await openPage(undefined);
  const seen = await page.evaluate(async () => {
    const large = JSON.stringify({ text: 'x'.repeat(2_000_000) });
    const headers = { 'Content-Type': 'application/json' };
    const answers = await Promise.all([
      ...Array.from({ length: 20 }, (_, i) => fetch(`/v2/${i}`)),
      fetch('/v2/large', { method: 'POST', headers, body: large }),
    ]);
    const { received } = (await (answers.at(-1) as Response).json()) as { received: number };
    const protocols = performance
      .getEntriesByType('resource')
      .map((it) => (it as PerformanceResourceTiming).nextHopProtocol);
    return { statuses: answers.map(({ status }) => status), received, protocols: [...new Set(protocols)] };
  });
  expect(seen).toEqual({ statuses: Array(21).fill(200), received: 2_000_011, protocols: ['h2'] });
});

it('its WebSockets open on the same port, and an answer that breaks is an error to it', async () => {
  const { page, origin } = await openPage(async ({ target, rawHeaders }, answer) => {
    if (rawHeaders.some(([name]) => name.toLowerCase() === 'upgrade')) {
      const socket = await answer.webSocket();
      socket.on('message', (text) => socket.send(`you said ${text}`));
    } else if (target === '/v2/breaks') {
      await (await answer.chunked()).chunk('only this');
      answer.reset();
    }
  });
  const said = await page.evaluate(
    (url) =>
      new Promise((resolve, reject) => {
        const socket = new WebSocket(url);
        socket.onopen = () => socket.send('hello');
        socket.onmessage = ({ data }) => resolve(data);
        socket.onerror = () => reject(new Error('the WebSocket failed'));
      }),
    `${origin.replace('https', 'wss')}/v2/stream`,
  );
  expect(said).toBe('you said hello');
  const outcome = await page.evaluate(async () => {
    // The reset may come so soon behind the head that no response comes of it.
    const response = await fetch('/v2/breaks').catch(() => undefined);
    if (response === undefined) return 'broken';
    if (response.status !== 200) return 'refused';
    return response.text().then(
      () => 'whole',
      () => 'broken',
    );
  });
  expect(outcome).toBe('broken');
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchChromium } from './chromium.ts';
import { type DemoConfig, ROOT, type RunningGateway, startGateway, writeDemoConfig } from './demo-gateway.ts';
import { witness } from './witness.ts';

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true };
const WIDTHS = [390, 768, 1280];
const LONGEST_NAME = 'm'.repeat(64);

/** How far things moved unasked since the page began to load. The second frame comes after the buffered entries. */
const LAYOUT_SHIFT = `new Promise((resolve) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) sum += value;
  }).observe({ type: 'layout-shift', buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => resolve(sum)));
})`;

/** Pixels between the outline of what has the focus and the left edge that would cut it. */
const ROOM_FOR_OUTLINE = `(() => {
  const { outlineOffset, outlineWidth } = getComputedStyle(document.activeElement);
  const reach = parseFloat(outlineOffset) + parseFloat(outlineWidth);
  const edge = document.activeElement.closest('ul').getBoundingClientRect().left;
  return document.activeElement.getBoundingClientRect().left - reach - edge;
})()`;

let folder: string;
let config: DemoConfig;
let gateway: RunningGateway;
let browser: Browser;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-demo-'));
  config = await writeDemoConfig(folder);
  gateway = await startGateway(process.execPath, ['src/main.ts', 'serve', config.file], { cwd: ROOT });
  browser = await launchChromium();
});

afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens the demo in a browser profile of its own. */
async function openDemo(options: BrowserContextOptions = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const seen = await witness(page);
  await page.goto(`http://localhost:${config.port}/`);
  await page.getByText('Choose a way in').waitFor();
  return { page, seen, close: () => context.close() };
}

async function enterAsVisitor(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Enter as a visitor', exact: true }).click();
  await page.getByText('Welcome, visitor').waitFor();
}

async function signInAsAdministrator(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign in as administrator' }).click();
  await page.getByText('Welcome, admin').waitFor();
}

async function createGroup(page: Page, name: string): Promise<void> {
  const form = page.getByRole('group', { name: 'New group' });
  await form.getByLabel('Name').fill(name);
  await form.getByLabel('Description').fill('People who look for things');
  await form.getByRole('button', { name: 'Create' }).click();
  await page.getByText(`Created ${name}`).waitFor();
}

async function requestsLeft(page: Page): Promise<number> {
  return Number(await page.getByRole('meter', { name: 'Quota' }).getAttribute('aria-valuenow'));
}

describe('the demo page', () => {
  it('signs an administrator in, who creates, changes and deletes a group', async () => {
    const { page, seen, close } = await openDemo();
    const groups = page.getByRole('list', { name: 'Groups' });
    await signInAsAdministrator(page);

    await createGroup(page, 'research');
    await groups.getByText('research', { exact: true }).waitFor();

    await page.getByRole('button', { name: 'Change research' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change group' });
    await dialog.getByLabel('Name').fill('exploration');
    await dialog.getByLabel('Active').uncheck();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await groups.getByText('exploration', { exact: true }).waitFor();
    await groups.getByText('inactive').waitFor();

    await page.getByRole('button', { name: 'Delete exploration' }).click();
    await groups.getByText('No groups yet.').waitFor();
    expect(seen.complaints).toEqual([]);
    await close();
  });

  it('says why the Service declined', async () => {
    const { page, close } = await openDemo();
    await signInAsAdministrator(page);
    await createGroup(page, 'twice');
    const form = page.getByRole('group', { name: 'New group' });
    await form.getByLabel('Name').fill('twice');
    await form.getByRole('button', { name: 'Create' }).click();
    await page.getByText('The Service declined').waitFor();
    await page.getByRole('button', { name: 'Delete twice' }).click();
    await page.getByText('Deleted twice').waitFor();
    await close();
  });

  it('shows the quota fall by every request', async () => {
    const { page, close } = await openDemo();
    await enterAsVisitor(page);
    await page.getByRole('button', { name: 'GET /v2', exact: true }).click();
    await page.getByText('Version v4.20190315').waitFor();
    const before = await requestsLeft(page);

    await page.getByRole('button', { name: 'Ten times over' }).click();
    await page.locator(`[role="meter"][aria-valuenow="${before - 10}"]`).waitFor();
    expect(await page.locator('#log tr').first().textContent()).toContain(String(before - 10));
    await close();
  });

  it('signs in by keyboard alone, with the focus in sight', async () => {
    const { page, close } = await openDemo();
    const focused = page.locator(':focus');
    await page.keyboard.press('Tab');
    expect(await focused.textContent()).toBe('Skip to signing in');
    await page.keyboard.press('Enter');

    await page.keyboard.press('Tab');
    expect(await focused.textContent()).toBe('Enter as a visitor');
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
    await page.keyboard.press('Enter');
    await page.getByText('Welcome, visitor').waitFor();

    // The focus stayed where it was: the user name, the password and the button come next.
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    expect(await focused.textContent()).toBe('Sign in as administrator');
    await page.keyboard.press('Space');
    await page.getByText('Welcome, admin').waitFor();
    expect(await page.getByRole('status').filter({ hasText: 'Welcome, admin' }).count()).toBe(1);
    await close();
  });

  it('has its groups looked after by keyboard alone, on a phone’s width, and never loses the focus', async () => {
    const { page, close } = await openDemo(PHONE);
    const focused = page.locator(':focus');
    await signInAsAdministrator(page);
    await page.getByRole('group', { name: 'New group' }).getByLabel('Name').focus();
    await page.keyboard.type('typed');
    await page.keyboard.press('Enter');
    await page.getByText('Created typed').waitFor();
    expect(await focused.getAttribute('name')).toBe('name');

    // Description, domain and button of the form come first.
    for (let i = 0; i < 4; i++) await page.keyboard.press('Tab');
    expect(await focused.getAttribute('aria-label')).toBe('Change typed');
    expect(await page.evaluate(ROOM_FOR_OUTLINE)).toBeGreaterThanOrEqual(0);
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Change group' });
    await dialog.locator('[name="name"]:focus').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    expect(await focused.getAttribute('aria-label')).toBe('Change typed');

    await page.keyboard.press('Tab');
    expect(await focused.getAttribute('aria-label')).toBe('Delete typed');
    await page.keyboard.press('Enter');
    await page.getByText('Deleted typed').waitFor();
    expect(await focused.count()).toBe(1);
    await close();
  });

  it('keeps the session over a reload and ends it on signing out', async () => {
    const { page, seen, close } = await openDemo();
    await signInAsAdministrator(page);
    await page.reload();
    await page.locator('#who', { hasText: 'admin' }).waitFor();

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.locator('#who', { hasText: 'Not signed in' }).waitFor();
    expect(await page.context().cookies()).toEqual([]);
    expect(seen.complaints).toEqual([]);
    await close();
  });

  it('notices that its session has ended', async () => {
    const { page, close } = await openDemo();
    await signInAsAdministrator(page);
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'GET /v2', exact: true }).click();
    await page.locator('#ask-result').getByText('unauthorized', { exact: true }).waitFor();
    await page.locator('#who', { hasText: 'Not signed in' }).waitFor();
    await close();
  });

  it('says so when the gateway cannot be reached', async () => {
    const { page, close } = await openDemo();
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'GET /v2', exact: true }).click();
    await page.locator('#ask-result').getByText('The gateway cannot be reached').waitFor();
    await close();
  });

  it('never comes near a secret key, whatever it sends, is sent or keeps', async () => {
    const { page, seen, close } = await openDemo();
    await enterAsVisitor(page);
    await page.getByRole('button', { name: 'GET /v2', exact: true }).click();
    await page.getByText('Version v4.20190315').waitFor();
    await signInAsAdministrator(page);
    await createGroup(page, 'secretive');

    const everything = await seen.everything();
    expect(everything).toContain('access_key');
    expect(everything).toMatch(/x-ratelimit-remaining/i);
    expect(config.secrets).toHaveLength(2);
    for (const secret of config.secrets) expect(everything).not.toContain(secret);
    expect(everything).not.toMatch(/secret_?key/i);
    expect(everything).not.toMatch(/signMethod=|"authorization"/i);
    expect(seen.origins()).toEqual([`http://localhost:${config.port}`]);

    const cookies = await page.context().cookies();
    expect(cookies).toMatchObject([{ name: 'session', httpOnly: true, sameSite: 'Strict' }]);
    expect(await page.evaluate('document.cookie')).toBe('');
    await page.getByRole('button', { name: 'Delete secretive' }).click();
    await page.getByText('Deleted secretive').waitFor();
    await close();
  });

  it('fits a phone, whatever a group is called', async () => {
    const { page, seen, close } = await openDemo(PHONE);
    const overflow = () => page.evaluate('document.documentElement.scrollWidth - innerWidth');
    expect(await overflow()).toBe(0);
    await signInAsAdministrator(page);
    await createGroup(page, LONGEST_NAME);
    expect(await overflow()).toBe(0);
    await page.getByRole('button', { name: `Delete ${LONGEST_NAME}` }).click();
    await page.getByText(`Deleted ${LONGEST_NAME}`).waitFor();
    expect(seen.complaints).toEqual([]);
    await close();
  });

  it.each(WIDTHS)('does not move by itself while it loads, %i pixels wide', async (width) => {
    // Only what is in view counts as moved: all of the page is.
    const { page, close } = await openDemo({ viewport: { width, height: 4000 } });
    await signInAsAdministrator(page);
    await createGroup(page, `steady ${width}`);
    await page.reload();
    await page.getByRole('button', { name: `Delete steady ${width}` }).waitFor();
    // A new row of the log moves the rows under it, which is its purpose and counts a little.
    expect(await page.evaluate(LAYOUT_SHIFT)).toBeLessThan(0.001);
    await page.getByRole('button', { name: `Delete steady ${width}` }).click();
    await page.getByText(`Deleted steady ${width}`).waitFor();
    await close();
  });
});

describe('the refusals the demo page provokes', () => {
  it.each([
    { label: 'No session', status: '401', code: 'unauthorized' },
    { label: 'A visitor as administrator', status: '403', code: 'graphql-operation' },
    { label: 'Somebody else’s key', status: '403', code: 'owner-access-key' },
    { label: 'Unknown path', status: '404', code: 'no-route' },
    { label: 'Ambiguous target', status: '400', code: 'ambiguous-target' },
    { label: 'Wrong content type', status: '415', code: 'unsupported-media-type' },
    { label: 'Several queries at once', status: '403', code: 'graphql-operation' },
    { label: 'Wrong password', status: '401', code: 'invalid-credentials' },
  ])('$label: $status $code, with the request id', async ({ label, status, code }) => {
    const { page, close } = await openDemo();
    await enterAsVisitor(page);
    await page.getByRole('button', { name: label }).click();
    const result = page.locator('#refusal-result');
    await result.getByText(code, { exact: true }).waitFor();
    expect(await result.locator('.status').textContent()).toBe(status);
    expect(await result.textContent()).toMatch(/Request [0-9a-f]{32}/);
    expect(await result.textContent()).toContain('nothing was signed');
    await close();
  });
});

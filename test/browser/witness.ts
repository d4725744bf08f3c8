import type { BrowserContext, Page, Request } from 'playwright-core';

/** Everything a page exchanged with anybody, and every complaint of the browser about it. */
export interface Witness {
  /** Console errors, uncaught errors and violations of the Content-Security-Policy. */
  readonly complaints: string[];
  /** Headers and bodies both ways, and what the page could have kept, as one text. */
  everything(): Promise<string>;
  /** Origins the page sent requests to. */
  origins(): string[];
}

export async function witness(page: Page): Promise<Witness> {
  const complaints: string[] = [];
  const requests: Request[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => requests.push(request));
  await page.exposeFunction('reportViolation', (violation: string) => complaints.push(violation));
  await page.addInitScript(
    "addEventListener('securitypolicyviolation', (event) => reportViolation(event.violatedDirective + ' ' + event.blockedURI))",
  );
  return {
    complaints,
    everything: async () => {
      const exchanges = await Promise.all(requests.map(exchangeOf));
      return [...exchanges, await keptBy(page), await cookiesOf(page.context())].join('\n');
    },
    origins: () => [...new Set(requests.map((request) => new URL(request.url()).origin))],
  };
}

async function exchangeOf(request: Request): Promise<string> {
  const response = await request.response();
  if (response === null) return `${request.url()} had no answer`;
  const hasBody = response.status() !== 204 && response.status() !== 304;
  return [
    `${request.method()} ${request.url()}`,
    JSON.stringify(await request.allHeaders()),
    request.postData() ?? '',
    JSON.stringify(await response.allHeaders()),
    hasBody ? (await response.body()).toString() : '',
  ].join('\n');
}

function keptBy(page: Page): Promise<string> {
  return page.evaluate<string>(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, document.documentElement.outerHTML])',
  );
}

async function cookiesOf(context: BrowserContext): Promise<string> {
  return JSON.stringify(await context.cookies());
}

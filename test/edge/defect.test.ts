import { afterEach, expect, it, vi } from 'vitest';
import { DayKeyCache } from '../../src/signing/day-key.ts';
import { FrontEnd } from '../kit/front-end.ts';
import { KEYPAIR, type StartOptions, startGateway, type TestGateway } from '../kit/gateway.ts';
import type { RawResponse } from '../kit/raw-client.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

/*
 * Something of ours throws what nobody foresaw: the caller gets a 500 that tells nothing, the log gets all of it, and
 * the next request is served.
 */

const DETAIL = 'a detail of the inside';
const HANDSHAKE = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
] as const;

let upstream: StrictUpstream;
let gateway: TestGateway;
/** While it is set, the part that has the defect throws. */
let isBroken = false;

afterEach(async () => {
  vi.restoreAllMocks();
  isBroken = false;
  await gateway.close();
  await upstream.close();
});

async function start(options: StartOptions): Promise<FrontEnd> {
  ({ upstream, gateway } = await startGateway({
    respond: (request, answer) =>
      request.rawHeaders.some(([name]) => name.toLowerCase() === 'upgrade')
        ? answer.webSocket().then(() => undefined)
        : undefined,
    ...options,
  }));
  return FrontEnd.signIn(gateway.port);
}

function fail(): never {
  throw new TypeError(DETAIL);
}

/** Breaks the part, sends the request, and sees to the answer and the log; then the part is whole again. */
async function expectInternal(send: () => Promise<RawResponse | undefined>): Promise<void> {
  isBroken = true;
  const response = await send();
  isBroken = false;
  expect(response?.status).toBe(500);
  expect(response?.header('content-type')).toBe('application/problem+json');
  const instance = response?.header('x-request-id');
  expect(response?.json()).toEqual({
    type: expect.stringMatching(/\/internal$/),
    title: 'Internal error',
    status: 500,
    detail: 'The gateway failed.',
    instance,
  });
  expect(JSON.stringify(response?.rawHeaders)).not.toContain(DETAIL);
  await expect
    .poll(() => gateway.log.map((line) => JSON.parse(line)))
    .toContainEqual(
      expect.objectContaining({
        msg: 'a request failed by a defect',
        level: 'error',
        requestId: instance,
        err: expect.objectContaining({ type: 'TypeError', message: DETAIL, stack: expect.stringContaining('at fail') }),
      }),
    );
  await expect.poll(() => gateway.log.join('')).toMatch(new RegExp(`"requestId":"${instance}".*"code":"internal"`));
}

async function handshake(page: FrontEnd): Promise<RawResponse | undefined> {
  const client = await page.connect();
  const response = await client.send(page.bytes('GET', '/v2/stream', { headers: HANDSHAKE })).response();
  client.destroy();
  return response;
}

it.each([
  ['listener', 'throws'],
  ['listener', 'rejects'],
  ['hono', 'throws'],
  ['hono', 'rejects'],
] as const)('a session store that %2$s unforeseen, through the door %1$s', async (door, how) => {
  const broken = (): never | Promise<never> => (how === 'throws' ? fail() : Promise.resolve().then(fail));
  const page = await start({
    door,
    store: (sound) => ({
      ...sound,
      get: (key) => (isBroken ? broken() : sound.get(key)),
      create: (session) => (isBroken ? broken() : sound.create(session)),
    }),
  });
  await expectInternal(() => page.fetch('GET', '/v2/x'));
  await expectInternal(() => page.fetch('POST', '/v2/x', { body: '{"a":1}' }));
  await expectInternal(() => page.fetch('GET', '/-/session'));
  await expectInternal(() =>
    new FrontEnd(gateway.port, '').fetch('POST', '/-/session', { body: '{"method":"visitor"}' }),
  );
  if (door === 'listener') await expectInternal(() => handshake(page));
  expect((await page.fetch('GET', '/v2/x')).status).toBe(200);
  expect(upstream.requests).toHaveLength(1);
  const secrets = [KEYPAIR.secretKey, page.cookie.split('=')[1] ?? 'none'];
  for (const secret of secrets) expect(gateway.log.join('')).not.toContain(secret);
});

it('a signer that throws unforeseen', async () => {
  const page = await start({});
  const sound = DayKeyCache.prototype.get;
  vi.spyOn(DayKeyCache.prototype, 'get').mockImplementation(function (this: DayKeyCache, ...args) {
    return isBroken ? fail() : sound.apply(this, args);
  });
  await expectInternal(() => page.fetch('GET', '/v2/x'));
  await expectInternal(() => page.fetch('POST', '/v2/x', { body: '{"a":1}' }));
  await expectInternal(() => handshake(page));
  expect((await page.fetch('GET', '/v2/x')).status).toBe(200);
  expect((await handshake(page))?.status).toBe(101);
});

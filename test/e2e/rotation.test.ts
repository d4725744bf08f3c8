import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { FrontEnd, HOST, ORIGIN } from '../kit/front-end.ts';
import { OPAQUE, type StartOptions, startGateway, type TestGateway } from '../kit/gateway.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

const OLD = { accessKey: 'AKIAOLD', secretKey: 'secret-of-the-old-one' };
const NEW = { accessKey: 'AKIANEW', secretKey: 'secret-of-the-new-one' };
const ACCEPTS_OLD = { [OLD.accessKey]: OLD.secretKey };
const ACCEPTS_NEW = { [NEW.accessKey]: NEW.secretKey };

const BEGIN = Date.UTC(2026, 10, 21, 10);
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const iso = (ms: number) => new Date(ms).toISOString();

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

/** `message accessKey` of what the log says of keypairs, in order. */
function alarms(): string[] {
  return gateway.log
    .map((line) => JSON.parse(line) as Record<string, string>)
    .filter(({ msg }) => msg?.startsWith('keypair '))
    .map(({ level, msg, accessKey }) => `${level}: ${msg} ${accessKey}`);
}

const signers = () =>
  upstream.heads.map(({ text }) => /credential=([^:]+):/.exec(text)?.[1]).map((key) => key ?? 'nobody');

describe('under load, while the Service switches keys', () => {
  const SWITCH = BEGIN + 20 * SECOND;
  const END = BEGIN + 40 * SECOND;
  const PAGES = 24;
  const NEXT = { ...NEW, state: 'next' };

  /** Every page sends one request after another until the end; what was answered wrongly comes back, with the counts. */
  async function load(clock: () => number) {
    const failures: string[] = [];
    const sent = { GET: 0, POST: 0, REPORT: 0 };
    const methods = ['GET', 'POST', 'REPORT'] as const;
    const visit = async (number: number) => {
      const client = await page.connect();
      for (let i = 0; clock() < END; i++) {
        const method = methods[i % 3] ?? 'GET';
        const target = `/v2/load?page=${number}&i=${i}`;
        const body = method === 'GET' ? undefined : JSON.stringify({ text: 'x'.repeat((i % 7) ** 6) });
        const response = await page.fetch(method, target, { body }, client);
        sent[method]++;
        const expected = JSON.stringify({ method, target, received: body?.length ?? 0 });
        if (response.status !== 200 || !response.complete || response.body.toString() !== expected) {
          failures.push(`${method} ${target}: ${response.status} ${response.body}`);
        }
      }
      client.destroy();
    };
    await Promise.all(Array.from({ length: PAGES }, (_, number) => visit(number)));
    return { failures, sent, total: sent.GET + sent.POST + sent.REPORT };
  }

  it.each<[string, number, object[], (string | undefined)[]]>([
    ['its date known, clocks agree', 0, [OLD, { ...NEXT, notBefore: iso(SWITCH) }], []],
    [
      'its date known, both windows',
      0,
      [
        { ...OLD, notAfter: iso(SWITCH) },
        { ...NEW, notBefore: iso(SWITCH) },
      ],
      [],
    ],
    [
      'its date known, our clock 5 s behind',
      -5 * SECOND,
      [OLD, { ...NEXT, notBefore: iso(SWITCH) }],
      ['warn: keypair refused AKIAOLD'],
    ],
    [
      'both windows, our clock 5 s behind',
      -5 * SECOND,
      [
        { ...OLD, notAfter: iso(SWITCH) },
        { ...NEW, notBefore: iso(SWITCH) },
      ],
      ['warn: keypair refused AKIAOLD'],
    ],
    [
      'its date known, our clock 5 s ahead',
      5 * SECOND,
      [OLD, { ...NEXT, notBefore: iso(SWITCH) }],
      ['warn: keypair refused AKIANEW', 'error: keypair refused AKIAOLD', 'info: keypair accepted again AKIANEW'],
    ],
    [
      'both windows, our clock 5 s ahead',
      5 * SECOND,
      [
        { ...OLD, notAfter: iso(SWITCH) },
        { ...NEW, notBefore: iso(SWITCH) },
      ],
      ['warn: keypair refused AKIANEW', 'error: keypair refused AKIAOLD', 'info: keypair accepted again AKIANEW'],
    ],
    ['its date unknown', 0, [OLD, NEXT], ['warn: keypair refused AKIAOLD']],
  ])('no request fails: %s', async (_name, skew, keypairs, expected) => {
    const startedAt = performance.now();
    // Ten times as fast as the wall's.
    const service = () => BEGIN + Math.floor((performance.now() - startedAt) * 10);
    await start({
      keypairs,
      clock: () => service() + skew,
      upstreamClock: service,
      serviceKeys: (now) => (now < SWITCH ? ACCEPTS_OLD : ACCEPTS_NEW),
    });
    const { failures, sent, total } = await load(service);

    expect(failures).toEqual([]);
    for (const count of Object.values(sent)) expect(count).toBeGreaterThan(70);
    const accepted = upstream.requests.filter(({ verdict }) => verdict.ok);
    expect(accepted.length).toBe(total);
    expect(new Set(accepted.map(({ target }) => target)).size).toBe(total);
    const refused = upstream.requests.filter(({ verdict }) => !verdict.ok);
    expect(new Set(refused.map(({ target }) => target)).size).toBe(refused.length);
    for (const { accessKey } of [OLD, NEW]) {
      expect(accepted.filter(({ verdict }) => verdict.accessKey === accessKey).length).toBeGreaterThan(100);
    }
    expect(upstream.violations).toEqual([]);

    // Where date and clock are exact, a request may still have been on its way at that instant.
    const heard = alarms().filter((line) => expected.length > 0 || !line.endsWith('refused AKIAOLD'));
    expect(heard.toSorted()).toEqual([...expected, 'info: keypair rotated AKIANEW'].toSorted());
    expect(refused.length).toBeLessThanOrEqual(PAGES * 2);
    expect(gateway.log.join()).not.toContain('secret-of-the');
  });
});

describe('a keypair that the Service refuses', () => {
  const unauthorized = { status: 401, type: 'https://upstream.example/unauthorized' };
  const fetch = async (method = 'GET', target = '/v2', body?: string) => {
    const response = await page.fetch(method, target, { body });
    return { status: response.status, ...(response.json() as object) };
  };

  it('is relayed as it came when it is the only one, after one attempt, and alarms once', async () => {
    await start({ keypairs: OLD, serviceKeys: ACCEPTS_NEW });
    for (let i = 0; i < 3; i++) expect(await fetch()).toMatchObject(unauthorized);
    expect(signers()).toEqual(['AKIAOLD', 'AKIAOLD', 'AKIAOLD']);
    expect(alarms()).toEqual(['error: keypair refused AKIAOLD']);
  });

  it('loops nowhere when both are refused: two attempts, then, while they rest, one', async () => {
    let now = BEGIN;
    await start({ keypairs: [OLD, NEW], serviceKeys: {}, clock: () => now });
    expect(await fetch('POST', '/v2', '{"n":1}')).toMatchObject(unauthorized);
    expect(signers()).toEqual(['AKIAOLD', 'AKIANEW']);
    for (let i = 0; i < 4; i++) {
      now += SECOND;
      expect(await fetch()).toMatchObject(unauthorized);
      expect(upstream.heads.length).toBe(3 + i);
    }
    expect(signers().slice(2)).toEqual(['AKIAOLD', 'AKIANEW', 'AKIAOLD', 'AKIANEW']);
    now += MINUTE;
    expect(await fetch()).toMatchObject(unauthorized);
    expect(upstream.heads.length).toBe(8);
    expect(alarms()).toEqual(['warn: keypair refused AKIAOLD', 'error: keypair refused AKIANEW']);
  });

  it('is tried again after its rest, by one request, and comes back when it is accepted', async () => {
    let now = BEGIN;
    let accepted = ACCEPTS_NEW;
    await start({ keypairs: [OLD, NEW], serviceKeys: () => accepted, clock: () => now });
    const ask = async () => {
      const before = upstream.heads.length;
      expect((await fetch()).status).toBe(200);
      return signers().slice(before);
    };
    expect(await ask()).toEqual(['AKIAOLD', 'AKIANEW']);
    expect(await ask()).toEqual(['AKIANEW']);
    now += MINUTE;
    expect(await ask()).toEqual(['AKIAOLD', 'AKIANEW']);
    now += MINUTE;
    expect(await ask()).toEqual(['AKIANEW']);
    now += MINUTE;
    accepted = ACCEPTS_OLD;
    expect(await ask()).toEqual(['AKIAOLD']);
    expect(await ask()).toEqual(['AKIAOLD']);
    expect(alarms()).toEqual([
      'warn: keypair refused AKIAOLD',
      'info: keypair accepted again AKIAOLD',
      'info: keypair rotated AKIAOLD',
    ]);
  });

  it('says in the alarm which tenant, role and request it was, and what signs in its place', async () => {
    await start({ keypairs: [OLD, NEW], serviceKeys: ACCEPTS_NEW, clock: () => BEGIN });
    const response = await page.fetch('GET', '/v2');
    const alarm = gateway.log.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'keypair refused');
    expect(alarm).toMatchObject({
      tenant: 'acme',
      role: 'visitor',
      accessKey: 'AKIAOLD',
      replacedBy: 'AKIANEW',
      until: iso(BEGIN + MINUTE),
      requestId: response.header('x-request-id'),
    });
  });

  it('is not meant by the 401 of a program behind the Service: relayed as it came, and nothing is set aside', async () => {
    const answered: string[] = [];
    await start({
      keypairs: [OLD, NEW],
      serviceKeys: { ...ACCEPTS_OLD, ...ACCEPTS_NEW },
      respond: async ({ verdict }, answer) => {
        answered.push(verdict.accessKey ?? '');
        await answer.send(401, [['Content-Type', 'text/html']], 'sign in to the notebook');
      },
    });
    for (let i = 0; i < 2; i++) {
      const response = await page.fetch('POST', '/v2', { body: '{}' });
      expect([response.status, response.body.toString()]).toEqual([401, 'sign in to the notebook']);
    }
    expect(answered).toEqual(['AKIAOLD', 'AKIAOLD']);
    expect(alarms()).toEqual([]);
  });

  it('keeps its connection for the next request, the refusal being read to its end', async () => {
    await start({ keypairs: [OLD, NEW], serviceKeys: ACCEPTS_NEW, upstream: { connections: 1 } });
    expect((await fetch('POST', '/v2', '{"n":1}')).status).toBe(200);
    expect((await fetch()).status).toBe(200);
    expect(upstream.connections).toBe(1);
  });

  let cut = false;
  /** Goes on until the gateway cuts the connection. */
  async function refuseWithoutEnd(answer: Parameters<NonNullable<StartOptions['respondEarly']>>[1]): Promise<void> {
    const body = await answer.chunked(401, [['Content-Type', 'application/problem+json']]);
    for (let i = 0; i < 10; i++) await body.chunk('x'.repeat(10_000));
    await answer.gone();
    cut = true;
  }

  it('is not waited for when its refusal has no end', async () => {
    await start({
      keypairs: [OLD, NEW],
      respondEarly: (head, answer) => head.text.includes('AKIAOLD') && refuseWithoutEnd(answer),
      serviceKeys: ACCEPTS_NEW,
    });
    expect((await fetch()).status).toBe(200);
    await upstream.waitUntil(() => cut);
  });

  it('ends the matter for a body that was streamed: it cannot be sent again, but the next is signed by the other', async () => {
    await start({ dialect: 'backend.ai', keypairs: [OLD, NEW], serviceKeys: ACCEPTS_NEW });
    const stream = () => page.fetch('POST', '/v2', { headers: [['Content-Type', OPAQUE]], body: 'bytes' });
    expect((await stream()).status).toBe(401);
    expect((await stream()).status).toBe(200);
    expect(signers()).toEqual(['AKIAOLD', 'AKIANEW']);
  });

  it('refuses a WebSocket as it came, and the next handshake is signed by the other', async () => {
    await start({
      keypairs: [OLD, NEW],
      serviceKeys: ACCEPTS_NEW,
      respond: async (_, answer) => void (await answer.webSocket()),
    });
    const open = () =>
      new WebSocket(`ws://127.0.0.1:${gateway.port}/v2/stream`, {
        headers: { Host: HOST, Cookie: page.cookie, Origin: ORIGIN, 'Sec-Fetch-Site': 'same-origin' },
      });
    const [, response] = (await once(open(), 'unexpected-response')) as [unknown, IncomingMessage];
    expect(response.statusCode).toBe(401);
    response.resume();
    const socket = open();
    await once(socket, 'open');
    socket.terminate();
    expect(signers()).toEqual(['AKIAOLD', 'AKIANEW']);
    expect(alarms()).toEqual(['warn: keypair refused AKIAOLD']);
  });
});

it('a role whose keypairs have all expired is told so, and nothing is sent', async () => {
  await start({ keypairs: [{ ...OLD, notAfter: iso(BEGIN) }], serviceKeys: ACCEPTS_OLD, clock: () => BEGIN });
  const response = await page.fetch('GET', '/v2');
  expect(response.status).toBe(503);
  expect(response.json()).toMatchObject({ type: expect.stringMatching(/\/keypair-unavailable$/) });
  expect(upstream.heads).toEqual([]);
});

import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FrontEnd, ORIGIN } from '../kit/front-end.ts';
import { DOORS, OPAQUE, startGateway, type TestGateway } from '../kit/gateway.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';
import { BODY, EXCHANGES, TARGETS, unambiguousTargets } from './requests.ts';

/*
 * The contract with the Service: whatever a front end may send arrives with the target it sent, byte for byte, under a
 * signature that an implementation which shares no code with the gateway accepts.
 */

/** Parsed by nobody on the way, so that in the dialect that hashes no body it is streamed straight through. */
const STREAMED = [['Content-Type', OPAQUE]] as const;

describe.each(
  DOORS.flatMap(
    (door) =>
      [
        [door, 'service'],
        [door, 'backend.ai'],
      ] as const,
  ),
)('through the door %s, in the dialect %s', (door, dialect) => {
  let upstream: StrictUpstream;
  let gateway: TestGateway;
  let page: FrontEnd;

  beforeAll(async () => {
    ({ upstream, gateway } = await startGateway({ door, dialect }));
    page = await FrontEnd.signIn(gateway.port);
  });

  afterAll(async () => {
    await gateway.close();
    await upstream.close();
  });

  beforeEach(() => {
    upstream.requests.length = 0;
    upstream.violations.length = 0;
  });

  describe.each(EXCHANGES)('%s with the body %j', (method, body) => {
    it('is accepted at every target, which arrives byte for byte', async () => {
      const client = await page.connect();
      for (const target of TARGETS) {
        const response = await page.fetch(method, target, { body }, client);
        expect([target, response.status]).toEqual([target, 200]);
      }
      client.destroy();
      expect(upstream.requests.map((request) => request.target)).toEqual(TARGETS);
      for (const request of upstream.requests) {
        expect(request.method).toBe(method);
        expect(request.payload.toString()).toBe(body ?? '');
        expect(request.verdict.why).toBe('verified');
      }
      expect(upstream.violations).toEqual([]);
    });

    it('keeps its upstream connection for the next request', async () => {
      const client = await page.connect();
      for (let i = 0; i < 5; i++) await page.fetch(method, `/v2/${i}`, { body }, client);
      client.destroy();
      expect(new Set(upstream.requests.map(({ connection }) => connection)).size).toBe(1);
    });
  });

  describe.each(EXCHANGES.filter(([, body]) => body !== undefined))(
    '%s with a body that nobody reads on the way',
    (method, body) => {
      it('is accepted, and keeps its upstream connection', async () => {
        const client = await page.connect();
        for (const target of ['/v2/a?', '/v2/b']) {
          const response = await page.fetch(method, target, { body, headers: STREAMED }, client);
          expect(response.json()).toEqual({ method, target, received: Buffer.byteLength(body ?? '') });
        }
        client.destroy();
        expect(upstream.requests.map(({ payload }) => payload.toString())).toEqual([body, body]);
        expect(new Set(upstream.requests.map(({ connection }) => connection)).size).toBe(1);
        expect(upstream.violations).toEqual([]);
      });
    },
  );

  it('signs the media type the request has, parameters and all', async () => {
    for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset="utf-8"']) {
      const response = await page.fetch('POST', '/v2', { body: BODY, headers: [['Content-Type', type]] });
      expect([type, response.status]).toEqual([type, 200]);
    }
  });

  it('signs a chunked body, split anywhere, as the bytes it stands for', async () => {
    const bytes = Buffer.from(BODY);
    for (const cut of [1, 7, bytes.length - 1]) {
      const chunks = [bytes.subarray(0, cut), bytes.subarray(cut)].flatMap((chunk) => [
        Buffer.from(`${chunk.length.toString(16)}\r\n`),
        chunk,
        Buffer.from('\r\n'),
      ]);
      const body = Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]);
      for (const type of ['application/json', OPAQUE]) {
        const headers = [
          ['Transfer-Encoding', 'chunked'],
          ['Content-Type', type],
        ] as const;
        expect((await page.fetch('PUT', '/v2', { body, headers })).status).toBe(200);
      }
    }
    expect(upstream.requests.map(({ payload }) => payload.toString())).toEqual(Array(6).fill(BODY));
  });

  it('signs bodies of every size around its buffers', async () => {
    for (const size of [1, 1023, 16_384, 65_535, 65_536, 65_537, 300_000, 5_000_000]) {
      const body = size < 2 ? '1' : `"${'x'.repeat(size - 2)}"`;
      for (const type of ['application/json', OPAQUE]) {
        const response = await page.fetch('POST', '/v2', { body, headers: [['Content-Type', type]] });
        expect([size, response.status, response.json()]).toMatchObject([size, 200, { received: size }]);
      }
    }
  });

  it('is never refused with two hundred requests in flight', async () => {
    const pages = Array.from({ length: 200 }, async (_, i) => {
      const client = await page.connect();
      const statuses: number[] = [];
      for (let round = 0; round < 5; round++) {
        const [method, body] = EXCHANGES[(i + round) % EXCHANGES.length] ?? ['GET'];
        const response = await page.fetch(method, `/v2/${i}/${round}?`, { body }, client);
        statuses.push(response.status);
      }
      client.destroy();
      return statuses;
    });
    const statuses = (await Promise.all(pages)).flat();
    expect(statuses).toEqual(Array(1000).fill(200));
    expect(new Set(upstream.requests.map(({ target }) => target)).size).toBe(1000);
    expect(upstream.violations).toEqual([]);
  });

  it('is never refused across a UTC midnight', async () => {
    const midnight = Date.UTC(2026, 11, 31, 24);
    let now = midnight - 150;
    // Each look at the clock is a millisecond later: some of these are stamped before midnight and verified after it.
    const night = await startGateway({ door, dialect, clock: () => now++ });
    const late = await FrontEnd.signIn(night.gateway.port);
    const statuses = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        late.fetch('POST', `/v2/${i}`, { body: BODY }).then(({ status }) => status),
      ),
    );
    await night.gateway.close();
    await night.upstream.close();
    expect(statuses).toEqual(Array(200).fill(200));
    const days = night.upstream.requests.map(({ text }) => /\r\nDate: (\d{8})T/i.exec(text)?.[1]);
    expect(new Set(days)).toEqual(new Set(['20261231', '20270101']));
  });

  it('sends one date in both date headers, in the basic form', async () => {
    await page.fetch('GET', '/v2');
    const [request] = upstream.requests;
    const dates = request?.rawHeaders
      .filter(([name]) => /^(?:x-\w+-)?date$/i.test(name))
      .map(([, value]) => value.trim());
    expect(dates).toHaveLength(2);
    expect(dates?.[0]).toMatch(/^\d{8}T\d{6}Z$/);
    expect(dates?.[1]).toBe(dates?.[0]);
  });

  it('passes any unambiguous target byte for byte', async () => {
    const client = await page.connect();
    await fc.assert(
      fc.asyncProperty(unambiguousTargets, async (sent) => {
        const response = await page.fetch('GET', sent, {}, client);
        expect(response.status).toBe(200);
        expect(upstream.requests.at(-1)?.target).toBe(sent);
      }),
      { numRuns: 200 },
    );
    client.destroy();
  });

  it('gives a target of any bytes either to the upstream as it came or back to the client, never another one', async () => {
    const wild = fc
      .array(
        fc.constantFrom(
          '/',
          '.',
          '..',
          '//',
          '\\',
          '%2e',
          '%2F',
          '%5c',
          '%',
          '%zz',
          '#',
          '?',
          'a',
          '%00',
          '%c3',
          '|',
          '<',
          '"',
          '`',
          '{',
        ),
        {
          maxLength: 8,
        },
      )
      .map((pieces) => `/v2/${pieces.join('')}`);
    const client = await page.connect();
    await fc.assert(
      fc.asyncProperty(wild, async (sent) => {
        upstream.requests.length = 0;
        const response = await page.fetch('GET', sent);
        if (response.status === 200) expect(upstream.requests.map(({ target }) => target)).toEqual([sent]);
        else {
          expect(response.status).toBe(400);
          expect(upstream.requests).toEqual([]);
        }
      }),
      { numRuns: 300 },
    );
    client.destroy();
  });

  it.each([
    '/v2/../admin',
    '/v2/..',
    '/v2/.',
    '/v2/./x',
    '/v2/%2e%2e/admin',
    '/v2/.%2E/admin',
    '/v2/%2e',
    '/v2//x',
    '//v2',
    '/v2/a\\b',
    '/v2/a%2Fb',
    '/v2/a%5cb',
    '/v2/a#b',
    '/v2?a#b',
    '/v2/%',
    '/v2/%4',
    '/v2/%zz',
    '/v2?%zz',
    '/v2/\u00e9',
    '/v2?\u00e9',
  ])('refuses the ambiguous target %j before the upstream hears of it', async (target) => {
    const response = await page.fetch('GET', target);
    expect(response.status).toBe(400);
    expect(upstream.requests).toEqual([]);
    // @hono/node-server answers for itself, without a body, what it can make no URL of.
    if (door === 'hono' && response.body.length === 0) return;
    expect(response.json()).toMatchObject({ type: expect.stringMatching(/\/ambiguous-target$/), status: 400 });
  });
});

describe('below a mount', () => {
  let upstream: StrictUpstream;
  let gateway: TestGateway;
  let page: FrontEnd;

  beforeAll(async () => {
    ({ upstream, gateway } = await startGateway({
      upstream: { mount: '/api' },
      respond: ({ target }, answer) => {
        if (!target.startsWith('/v2/moved')) return;
        return answer.json(201, {}, [
          ['Location', '/v2/new?x'],
          ['Content-Location', '/v2/new'],
          ['Link', `<${upstream.origin}/v2/a>; rel="next", </v2/b>; rel="prev"`],
        ]);
      },
    }));
    page = await FrontEnd.signIn(gateway.port);
  });

  afterAll(async () => {
    await gateway.close();
    await upstream.close();
  });

  beforeEach(() => {
    upstream.requests.length = 0;
  });

  it.each(TARGETS)('%s is signed and sent without it', async (target) => {
    expect((await page.fetch('POST', `/api${target}`, { body: BODY })).status).toBe(200);
    expect(upstream.requests.map((request) => [request.target, request.verdict.why])).toEqual([[target, 'verified']]);
  });

  it('it is taken off once, however it is spelt', async () => {
    for (const sent of ['/%61pi/v2/x', '/ap%69/v2/x']) expect((await page.fetch('GET', sent)).status).toBe(200);
    expect(upstream.requests.map(({ target }) => target)).toEqual(['/v2/x', '/v2/x']);
  });

  it.each(['/v2', '/apiv2', '/api', '/api?/v2', '/API/v2', '/api/api/v2', '/api/x', '/ap', '/v2/api/v2'])(
    '%s is not below it or has no route there',
    async (target) => {
      expect((await page.fetch('GET', target)).status).toBe(404);
      expect(upstream.requests).toEqual([]);
    },
  );

  it.each(['/api//v2', '/api/../v2', '/api/./v2', '/api/%2e%2e/v2', '/api\\v2', '/api%2Fv2'])(
    '%s is ambiguous',
    async (target) => {
      expect((await page.fetch('GET', target)).status).toBe(400);
      expect(upstream.requests).toEqual([]);
    },
  );

  it('it is put back into Location and Link', async () => {
    const response = await page.fetch('POST', '/api/v2/moved', { body: BODY });
    expect(response.header('location')).toBe('/api/v2/new?x');
    expect(response.header('link')).toBe(`<${ORIGIN}/api/v2/a>; rel="next", </api/v2/b>; rel="prev"`);
  });
});

describe('where the operator sets the host to sign', () => {
  it.each(['service', 'backend.ai'] as const)('it is the Host that is sent, too (%s)', async (dialect) => {
    const { upstream, gateway } = await startGateway({ dialect, upstream: { signedHost: 'api.service.example:8443' } });
    const page = await FrontEnd.signIn(gateway.port);
    const response = await page.fetch('POST', '/v2/x', { body: BODY });
    await gateway.close();
    await upstream.close();
    expect(response.status).toBe(200);
    expect(upstream.requests[0]?.text).toMatch(/\r\nhost: api\.service\.example:8443\r\n/i);
  });
});

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../kit/free-port.ts';
import { FrontEnd, type RequestOptions } from '../kit/front-end.ts';
import { OPAQUE, type StartOptions, startGateway, type TestGateway } from '../kit/gateway.ts';
import { openFilesIn } from '../kit/open-files.ts';
import type { RawClient } from '../kit/raw-client.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

let folder: string;
let upstream: StrictUpstream;
let gateway: TestGateway;
let page: FrontEnd;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-uploads-'));
});
afterEach(async () => {
  // However a test has ended: no file, no descriptor and no share of a budget is left.
  await expect.poll(leftovers).toEqual({ memory: 0, disk: 0, open: [], files: [] });
  expect(upstream.violations).toEqual([]);
  await gateway.close();
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

async function start(options: StartOptions = {}): Promise<void> {
  ({ upstream, gateway } = await startGateway({ ...options, bodies: { folder, ...options.bodies } }));
  page = await FrontEnd.signIn(gateway.port);
}

const used = () => {
  const { memory, disk } = gateway.watched.gateway.insides.bodies;
  return { memory: memory.used, disk: disk.used };
};
const leftovers = () => ({ ...used(), open: openFilesIn(folder), files: readdirSync(folder) });
const problem = (code: string) => ({ type: expect.stringMatching(new RegExp(`/${code}$`)) });

const UPLOAD = ['Content-Type', OPAQUE] as const;
const CHUNKED = ['Transfer-Encoding', 'chunked'] as const;

function chunked(body: Buffer, size = 50_000): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) {
    const chunk = body.subarray(at, at + size);
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

/** Sends the head of an upload and the first of its bytes; the rest is up to the test. */
async function begin(length: number, first: Buffer | string = '', options: RequestOptions = {}): Promise<RawClient> {
  const client = (await page.connect()) as RawClient;
  const headers = [UPLOAD, ['Content-Length', String(length)], ...(options.headers ?? [])] as const;
  return client.send(page.bytes('POST', '/v2/x', { headers, body: first }));
}

describe('a body', () => {
  const sizes = [1, 64 * KIB, 256 * KIB, 256 * KIB + 1, 3 * MIB];

  it.each([
    ['service', 'listener'],
    ['service', 'hono'],
    ['backend.ai', 'listener'],
  ] as const)('of any size arrives as it was sent, its hash signed: dialect %s, door %s', async (dialect, door) => {
    await start({ dialect, door });
    for (const size of sizes) {
      const bytes = randomBytes(size);
      const json = Buffer.from(JSON.stringify({ data: bytes.toString('base64') }));
      const requests: [Buffer, RequestOptions][] = [
        [bytes, { headers: [UPLOAD], body: bytes }],
        [bytes, { headers: [UPLOAD, CHUNKED], body: chunked(bytes) }],
        [json, { body: json }],
        [json, { headers: [CHUNKED], body: chunked(json) }],
      ];
      for (const [sent, options] of requests) {
        const response = await page.fetch('POST', '/v2/x', options);
        expect(response.status).toBe(200);
        const { payload, verdict } = upstream.requests.at(-1) ?? {};
        expect(payload?.equals(sent), `${size} bytes`).toBe(true);
        expect(verdict).toMatchObject({ ok: true });
      }
    }
  });

  it('that is large is in a file, and the file has no name', async () => {
    await start();
    const body = randomBytes(MIB);
    const client = await begin(body.length, body.subarray(0, 600 * KIB));
    await expect.poll(() => openFilesIn(folder)).toEqual([expect.stringMatching(/\(deleted\)$/)]);
    expect(readdirSync(folder)).toEqual([]);
    expect(used()).toEqual({ memory: 0, disk: MIB });
    client.send(body.subarray(600 * KIB));
    expect((await client.response('POST'))?.status).toBe(200);
    client.destroy();
  });

  it('is taken from its client no faster than the disk takes it', async () => {
    await start();
    const fifo = join(folder, 'fifo');
    execFileSync('mkfifo', [fifo]);
    // Opening it waits for a writer, on a thread that file operations need: with all four taken, the disk stands still.
    const opened = Array.from({ length: 4 }, () => open(fifo, 'r'));
    const release = async () => {
      const writer = openSync(fifo, 'w');
      await Promise.all(opened.map(async (file) => (await file).close()));
      closeSync(writer);
    };
    let arriving: Socket | undefined;
    gateway.server.once('connection', (socket) => {
      arriving = socket;
    });
    const body = randomBytes(9 * MIB);
    const client = await begin(body.length, body);
    for (let i = 0; i < 100; i++) await page.fetch('GET', '/v2/x');
    const taken = arriving?.bytesRead;
    await release();
    rmSync(fifo);
    expect(taken).toBeGreaterThan(64 * KIB);
    expect(taken).toBeLessThan(512 * KIB);

    expect((await client.response('POST'))?.status).toBe(200);
    expect(upstream.requests.at(-1)?.payload.equals(body)).toBe(true);
    client.destroy();
  });

  it('in chunks of one byte arrives as it was sent', async () => {
    await start();
    const body = Buffer.from(JSON.stringify({ data: randomBytes(20 * KIB).toString('hex') }));
    const response = await page.fetch('POST', '/v2/x', { headers: [CHUNKED], body: chunked(body, 1) });
    expect(response.status).toBe(200);
    expect(upstream.requests.at(-1)?.payload.equals(body)).toBe(true);
  });

  it('is given up as soon as the upstream has it, however long the answer lasts', async () => {
    const over = Promise.withResolvers<void>();
    await start({
      respond: async (_, answer) => {
        const body = await answer.chunked();
        await body.chunk('the beginning');
        await over.promise;
        await body.end();
      },
    });
    for (const size of [10 * KIB, MIB]) {
      const client = await begin(size, randomBytes(size));
      expect((await client.head())?.status).toBe(200);
      await expect.poll(leftovers).toEqual({ memory: 0, disk: 0, open: [], files: [] });
      client.destroy();
    }
    over.resolve();
  });
});

describe('owner_access_key', () => {
  const large = (inside: string) =>
    Buffer.from(`{"pad":"${'x'.repeat(MIB)}",${inside},"more":"${'y'.repeat(70_000)}"}`);

  // What is too large for memory is still judged to its last byte.
  it.each(['"owner_access_key":"AKIA"', '"\\u006fwner_access_key":"AKIA"', '"deep":[{"ownerAccessKey":1}]'])(
    'is found far inside a body that is in a file: %s',
    async (inside) => {
      await start();
      const body = large(inside);
      const sized = await page.fetch('POST', '/v2/x', { body });
      const inChunks = await page.fetch('POST', '/v2/x', { headers: [CHUNKED], body: chunked(body, 9973) });
      for (const response of [sized, inChunks]) {
        expect(response.status).toBe(403);
        expect(response.json()).toMatchObject(problem('owner-access-key'));
      }
      expect(upstream.requests).toEqual([]);
    },
  );

  it('is found where two chunks meet', async () => {
    await start();
    const body = Buffer.from('{"a":1,"owner_access_key":"AKIA"}');
    for (let size = 1; size < body.length; size++) {
      const response = await page.fetch('POST', '/v2/x', { headers: [CHUNKED], body: chunked(body, size) });
      expect(response.status, `chunks of ${size}`).toBe(403);
    }
    expect(upstream.requests).toEqual([]);
  });

  it('in a value is none, and the body is sent as it came', async () => {
    await start({ route: { maxBody: '4MiB' } });
    const body = large('"note":"owner_access_key"');
    const answers = await Promise.all([1, 2, 3].map(() => page.fetch('POST', '/v2/x', { body })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    for (const { payload } of upstream.requests) expect(payload.equals(body)).toBe(true);
  });
});

describe('GraphQL', () => {
  const graphql = { methods: ['POST'], graphql: { visitor: ['groups'] } };
  const request = (query: string) => JSON.stringify({ variables: { pad: 'x'.repeat(400 * KIB) }, query });

  it('is judged as a whole, in memory or not', async () => {
    await start({ route: graphql });
    expect((await page.fetch('POST', '/v2/x', { body: request('{ groups { name } }') })).status).toBe(200);
    const refused = await page.fetch('POST', '/v2/x', { body: request('mutation { create_group { ok } }') });
    expect(refused.json()).toMatchObject(problem('graphql-operation'));
    expect(upstream.requests).toHaveLength(1);
  });

  it('beyond what memory there is gets 413', async () => {
    await start({ route: graphql, bodies: { memory: '300KiB', inMemory: '100KiB' } });
    const body = request('{ groups { name } }');
    const sized = await page.fetch('POST', '/v2/x', { body });
    const inChunks = await page.fetch('POST', '/v2/x', { headers: [CHUNKED], body: chunked(Buffer.from(body)) });
    for (const response of [sized, inChunks]) expect(response.json()).toMatchObject(problem('body-too-large'));
  });
});

describe('where there is no room', () => {
  it('on disk an upload is refused before it is asked for, and a small body still passes', async () => {
    await start({ bodies: { disk: '1MiB' } });
    const first = await begin(700 * KIB, randomBytes(300 * KIB));
    await expect.poll(used).toEqual({ memory: 0, disk: 700 * KIB });

    const second = await begin(700 * KIB, '', { headers: [['Expect', '100-continue']] });
    const refused = await second.response('POST');
    expect(refused).toMatchObject({ status: 507, interim: [] });
    expect(refused?.json()).toMatchObject(problem('insufficient-storage'));
    expect(refused?.header('retry-after')).toMatch(/^\d+$/);
    await second.closed();
    expect((await page.fetch('POST', '/v2/x', { body: '{}' })).status).toBe(200);
    expect(upstream.heads).toHaveLength(1);

    first.send(randomBytes(400 * KIB));
    expect((await first.response('POST'))?.status).toBe(200);
    first.destroy();
    await expect.poll(used).toEqual({ memory: 0, disk: 0 });
    const body = randomBytes(700 * KIB);
    expect((await page.fetch('POST', '/v2/x', { headers: [UPLOAD], body })).status).toBe(200);
  });

  it('for an upload of unknown length, it is refused when it outgrows what there is', async () => {
    await start({ bodies: { disk: '1MiB' } });
    const client = await page.connect();
    const body = chunked(randomBytes(2 * MIB));
    client.send(page.bytes('POST', '/v2/x', { headers: [UPLOAD, CHUNKED], body }));
    const response = await client.response('POST');
    expect(response?.status).toBe(507);
    expect(response?.json()).toMatchObject(problem('insufficient-storage'));
    expect(response?.header('connection')).toBe('close');
    client.destroy();
    expect(upstream.heads).toEqual([]);
  });

  it('in memory, small bodies go to disk', async () => {
    await start({ bodies: { memory: '64KiB', inMemory: '64KiB' } });
    const first = await begin(60 * KIB, randomBytes(KIB));
    await expect.poll(used).toEqual({ memory: 60 * KIB, disk: 0 });
    const second = await begin(60 * KIB, randomBytes(KIB));
    await expect.poll(used).toEqual({ memory: 60 * KIB, disk: 60 * KIB });
    const chunks = { headers: [UPLOAD, CHUNKED], body: chunked(randomBytes(50 * KIB), 1000) };
    expect((await page.fetch('POST', '/v2/x', chunks)).status).toBe(200);
    for (const client of [first, second]) {
      client.send(randomBytes(59 * KIB));
      expect((await client.response('POST'))?.status).toBe(200);
      client.destroy();
    }
  });

  it('because the folder is gone, uploads are refused and the log says why', async () => {
    await start();
    rmSync(folder, { recursive: true });
    const response = await page.fetch('POST', '/v2/x', { headers: [UPLOAD], body: randomBytes(300 * KIB) });
    expect(response.status).toBe(507);
    expect(response.json()).toMatchObject(problem('insufficient-storage'));
    expect(gateway.log.join('')).toMatch(/"code":"ENOENT".*a request body could not be stored/);
    expect((await page.fetch('POST', '/v2/x', { body: '{}' })).status).toBe(200);
    folder = mkdtempSync(join(tmpdir(), 'countersign-uploads-'));
  });

  it('and no disk at all, bodies of any size are held in memory as far as it goes', async () => {
    await start({ bodies: { disk: '0B', memory: '2MiB' } });
    const body = randomBytes(MIB + 1);
    expect((await page.fetch('POST', '/v2/x', { headers: [UPLOAD], body })).status).toBe(200);
    const inChunks = { headers: [UPLOAD, CHUNKED], body: chunked(body) };
    expect((await page.fetch('POST', '/v2/x', inChunks)).status).toBe(200);
    for (const { payload } of upstream.requests) expect(payload.equals(body)).toBe(true);

    const first = await begin(MIB + 1, body.subarray(0, KIB));
    await expect.poll(used).toEqual({ memory: MIB + 1, disk: 0 });
    for (const options of [{ headers: [UPLOAD], body }, inChunks]) {
      const client = await page.connect();
      const response = await client.send(page.bytes('POST', '/v2/x', options)).response('POST');
      expect(response?.json()).toMatchObject(problem('insufficient-storage'));
      client.destroy();
    }
    first.destroy();
  });
});

describe('a client that waits to be asked for its body', () => {
  const EXPECT = ['Expect', '100-continue'] as const;

  it.each<[string, number, string, readonly (readonly [string, string])[]]>([
    ['too large', 413, 'body-too-large', [UPLOAD, ['Content-Length', '11000000']]],
    [
      'of a type that is not taken',
      415,
      'unsupported-media-type',
      [
        ['Content-Type', 'text/plain'],
        ['Content-Length', '5'],
      ],
    ],
    ['from elsewhere', 403, 'csrf', [UPLOAD, ['Content-Length', '5'], ['Sec-Fetch-Site', 'cross-site']]],
    ['more than there is room for', 507, 'insufficient-storage', [UPLOAD, ['Content-Length', '2000000']]],
  ])('is refused without being asked when it is %s', async (_, status, code, headers) => {
    await start({ bodies: { disk: '1MiB' } });
    const client = await page.connect();
    client.send(page.bytes('POST', '/v2/x', { headers: [...headers, EXPECT], body: '' }));
    const response = await client.response('POST');
    expect(response).toMatchObject({ status, interim: [] });
    expect(response?.json()).toMatchObject(problem(code));
    await client.closed();
  });

  it('for a large body is asked once', async () => {
    await start();
    const client = await begin(MIB, '', { headers: [EXPECT] });
    expect((await client.head())?.status).toBe(100);
    client.send(randomBytes(MIB));
    expect(await client.response('POST')).toMatchObject({ status: 200, interim: [] });
    client.destroy();
  });
});

describe('a client that leaves', () => {
  it.each([
    ['a small body', 10 * KIB, 5 * KIB],
    ['a large one that has just begun', MIB, 0],
    ['a large one that is half here', 8 * MIB, 4 * MIB],
  ])('in the middle of %s takes all of it along', async (_, length, sent) => {
    await start();
    const client = await begin(length, randomBytes(sent));
    await expect.poll(() => used().memory + used().disk).toBe(length);
    client.destroy();
    await expect.poll(leftovers).toEqual({ memory: 0, disk: 0, open: [], files: [] });
    expect(upstream.heads).toEqual([]);
  });

  // It leaves while its last bytes are being written to disk or judged: at some time in one of these rounds.
  it('with its last byte is not waited for', async () => {
    await start({ respond: () => new Promise(() => undefined) });
    const body = Buffer.from(JSON.stringify({ note: 'owner_access_key', pad: 'x'.repeat(600 * KIB) }));
    for (let round = 0; round < 30; round++) {
      const client = (await page.connect()) as RawClient;
      client.socket.end(page.bytes('POST', '/v2/x', { body }));
      await client.closed();
    }
    await expect.poll(leftovers).toEqual({ memory: 0, disk: 0, open: [], files: [] });
  });

  it('while its body is on the way upstream takes it along', async () => {
    const taken = Promise.withResolvers<void>();
    await start({
      respondEarly: () => taken.promise.then(() => undefined),
    });
    const client = await begin(9 * MIB, randomBytes(9 * MIB));
    await upstream.waitUntil(() => upstream.heads.length === 1);
    expect(openFilesIn(folder)).toHaveLength(1);
    client.destroy();
    await expect.poll(leftovers).toEqual({ memory: 0, disk: 0, open: [], files: [] });
    taken.resolve();
  });
});

describe('an upstream', () => {
  const body = randomBytes(9 * MIB);
  const send = () => page.fetch('POST', '/v2/x', { headers: [UPLOAD], body });

  it('that cannot be reached leaves a stored body for the next one', async () => {
    const dead = `http://127.0.0.1:${await freePort()}`;
    const live = await startGateway();
    await live.gateway.close();
    await start({ upstream: { endpoints: [dead, live.upstream.origin] } });
    expect((await send()).status).toBe(200);
    expect(live.upstream.requests.at(-1)?.payload.equals(body)).toBe(true);
    expect(live.upstream.requests.at(-1)?.verdict).toMatchObject({ ok: true });
    await live.upstream.close();
  });

  it('that refuses one keypair gets the stored body again, from its start, signed with the next', async () => {
    await start({
      keypairs: [
        { accessKey: 'AKIAREFUSED', secretKey: 'no' },
        { accessKey: 'AKIAVISITOR', secretKey: 'visitor-secret', state: 'next' },
      ],
    });
    expect((await send()).status).toBe(200);
    expect(upstream.requests.map(({ verdict, payload }) => [verdict.ok, payload.equals(body)])).toEqual([
      [false, true],
      [true, true],
    ]);
  });

  it('that answers before it has read the body is relayed, and the rest stays unread', async () => {
    await start({
      respondEarly: (_, answer) => answer.json(422, { title: 'enough' }, [['Connection', 'close']]),
    });
    const response = await send();
    expect(response.status).toBe(422);
    expect(response.json()).toEqual({ title: 'enough' });
  });

  it.each(['resets', 'closes'] as const)('that %s in the middle of the body is 502', async (how) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => (how === 'resets' ? socket.resetAndDestroy() : socket.destroy()));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    await start({ upstream: { endpoints: [`http://127.0.0.1:${port}`] } });
    const response = await send();
    expect(response.status).toBe(502);
    expect(response.json()).toMatchObject(problem('upstream-failed'));
    server.close();
  });

  it('that takes nothing of it is given up when it is silent too long', async () => {
    const server = createServer((socket) => socket.pause().on('error', () => undefined)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    await start({ upstream: { endpoints: [`http://127.0.0.1:${port}`], timeouts: { idle: '300ms' } } });
    const response = await send();
    expect(response.status).toBe(504);
    expect(response.json()).toMatchObject(problem('upstream-timeout'));
    server.close();
  });
});

it('a gateway that closes lets go of all bodies', async () => {
  await start({ respondEarly: () => new Promise(() => undefined) });
  const sending = await begin(4 * MIB, randomBytes(4 * MIB));
  const receiving = await begin(4 * MIB, randomBytes(MIB));
  await upstream.waitUntil(() => upstream.heads.length === 1);
  await expect.poll(() => openFilesIn(folder)).toHaveLength(2);
  await gateway.watched.gateway.close();
  gateway.server.closeAllConnections();
  await expect.poll(leftovers).toEqual({ memory: 0, disk: 0, open: [], files: [] });
  for (const client of [sending, receiving]) client.destroy();
});

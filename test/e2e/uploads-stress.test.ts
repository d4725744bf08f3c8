import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { FrontEnd } from '../kit/front-end.ts';
import { OPAQUE, startGateway } from '../kit/gateway.ts';
import { openFilesIn } from '../kit/open-files.ts';

const KIB = 1024;
const BYTES = randomBytes(2048 * KIB);
const JSON_START = '{"owner_access_key":"';

/** One upload, and what everybody does to it. */
const upload = fc.record({
  size: fc.oneof(fc.integer({ min: 1, max: 300 * KIB }), fc.integer({ min: 1, max: 1200 * KIB })),
  framing: fc.constantFrom('sized', 'chunked'),
  /** What is refused by policy is refused after it was received. */
  content: fc.constantFrom('opaque', 'opaque', 'refused'),
  /** Part of the body after which the client leaves, or none. */
  leavesAt: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
  upstream: fc.constantFrom('answers', 'answers', 'answers early', 'breaks off', 'refuses the keypair', 'dawdles'),
});
type Upload = typeof upload extends fc.Arbitrary<infer U> ? U : never;

function bodyOf({ size, content }: Upload): Buffer {
  if (content === 'opaque') return BYTES.subarray(0, size);
  return Buffer.from(`${JSON_START}${'x'.repeat(size)}"}`);
}

async function play(page: FrontEnd, each: Upload): Promise<void> {
  const body = bodyOf(each);
  const isChunked = each.framing === 'chunked';
  const client = await page.connect();
  const framing = isChunked
    ? (['Transfer-Encoding', 'chunked'] as const)
    : (['Content-Length', `${body.length}`] as const);
  const type = each.content === 'opaque' ? OPAQUE : 'application/json';
  client.send(
    page.bytes('POST', `/v2/${each.upstream.replaceAll(' ', '-')}`, {
      headers: [['Content-Type', type], framing],
      body: '',
    }),
  );
  const end = Math.floor(body.length * (each.leavesAt ?? 1));
  for (let at = 0; at < end; at += 40_000) {
    const piece = body.subarray(at, Math.min(end, at + 40_000));
    if (isChunked) client.send(`${piece.length.toString(16)}\r\n`, piece, '\r\n');
    else client.send(piece);
  }
  if (each.leavesAt === undefined) {
    if (isChunked) client.send('0\r\n\r\n');
    await client.response('POST');
  }
  client.destroy();
}

// Each of the ways an upload can end must give back what the upload took, or the gateway fills up in a week.
it('whatever becomes of many uploads at once, nothing of them is left', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-uploads-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { gateway, upstream } = await startGateway({
    // Little of everything, so that some of the uploads find no room.
    bodies: { folder, inMemory: '100KiB', memory: '300KiB', disk: '1500KiB' },
    upstream: { connections: 4, timeouts: { idle: '2s', headers: '2s' } },
    respondEarly: (head, answer) => {
      if (head.target === '/v2/answers-early') return answer.json(422, {}, [['Connection', 'close']]);
      if (head.target !== '/v2/breaks-off') return false;
      answer.reset();
      return Promise.resolve();
    },
    respond: async ({ target }, answer) => {
      if (target === '/v2/refuses-the-keypair') await answer.json(401, {});
      if (target !== '/v2/dawdles') return;
      const body = await answer.chunked();
      await body.chunk('slowly');
      await body.end();
    },
  });
  onTestFinished(async () => {
    await gateway.close();
    await upstream.close();
  });
  const page = await FrontEnd.signIn(gateway.port);
  const { memory, disk } = gateway.watched.gateway.insides.bodies;
  const statuses = new Set<number>();
  await fc.assert(
    fc.asyncProperty(fc.array(upload, { minLength: 6, maxLength: 16 }), async (uploads) => {
      await Promise.all(uploads.map((each) => play(page, each)));
      const left = () => [memory.used, disk.used, openFilesIn(folder), readdirSync(folder)];
      await expect.poll(left).toEqual([0, 0, [], []]);
    }),
    { numRuns: 40, endOnFailure: true },
  );
  for (const line of gateway.log) statuses.add((JSON.parse(line) as { status: number }).status);
  expect([...statuses]).toEqual(expect.arrayContaining([200, 401, 403, 422, 502, 507]));
  expect(gateway.log.filter((line) => /"code":"internal"|could not be stored/.test(line))).toEqual([]);
  expect(upstream.requests.filter(({ verdict }) => !verdict.ok)).toEqual([]);
});

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { type Demo, signIn, startDemo } from '../kit/demo.ts';
import { openFilesIn } from '../kit/open-files.ts';
import { mergeYaml } from '../kit/yaml.ts';

const MIB = 1024 * 1024;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-uploads-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

/** An upstream that throws bodies away as fast as they come, and answers when all of one is there. */
async function startSink(): Promise<string> {
  const server = createServer((socket) => {
    let missing = 0;
    socket
      .on('error', () => undefined)
      .on('data', (bytes: Buffer) => {
        const head = missing === 0 ? bytes.indexOf('\r\n\r\n') + 4 : 0;
        if (missing === 0) missing = Number(/content-length: (\d+)/i.exec(bytes.toString('latin1', 0, head))?.[1] ?? 0);
        missing -= bytes.length - head;
        if (missing === 0) socket.write('HTTP/1.1 204 No Content\r\n\r\n');
      });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function start(bodies = ''): Promise<{ demo: Demo; cookie: string }> {
  const route = `{ path: /v2, roles: [visitor], contentTypes: [application/octet-stream], maxBody: 100MiB }`;
  const overlay = `
bodies: { folder: ${folder}, ${bodies} }
tenants: { demo: { upstream: { endpoints: ["${await startSink()}"] }, routes: [${route}] } }`;
  const demo = await startDemo((yaml) => mergeYaml(yaml, overlay));
  onTestFinished(() => demo.stop());
  return { demo, cookie: await signIn(demo.origin) };
}

/** Begins an upload of `length` bytes; `send` writes as many of them as it is told, no faster than they are taken. */
function upload({ demo, cookie }: { demo: Demo; cookie: string }, length: number) {
  const outgoing = request(`${demo.origin}/v2/x`, {
    method: 'POST',
    agent: false,
    headers: {
      Cookie: cookie,
      'X-Countersign': '1',
      'Content-Type': 'application/octet-stream',
      'Content-Length': length,
    },
  });
  const answered = once(outgoing, 'response').then(([response]) => {
    response.resume();
    return response.statusCode as number;
  });
  const block = Buffer.alloc(MIB, 'x');
  return {
    outgoing,
    answered,
    async send(bytes: number) {
      for (let left = bytes; left > 0; left -= block.length) {
        if (!outgoing.write(block.subarray(0, left)) && !outgoing.destroyed) await once(outgoing, 'drain');
      }
    },
  };
}

const memoryOf = (demo: Demo, figure: string) => {
  const status = readFileSync(`/proc/${demo.process.child.pid}/status`, 'utf8');
  return Number(new RegExp(`${figure}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024;
};

it('many large uploads at once take little memory', async () => {
  const gateway = await start();
  const before = memoryOf(gateway.demo, 'VmRSS');
  const statuses = Array.from({ length: 8 }, async () => {
    const one = upload(gateway, 24 * MIB);
    await one.send(24 * MIB);
    one.outgoing.end();
    return one.answered;
  });
  expect(await Promise.all(statuses)).toEqual(Array.from({ length: 8 }, () => 204));
  // In memory they would take 192 MiB; left to the garbage collector, what is written and read would take 80.
  expect(memoryOf(gateway.demo, 'VmHWM') - before).toBeLessThan(50);
});

it('a crash in the middle of an upload leaves nothing on disk', async () => {
  const gateway = await start();
  const { pid } = gateway.demo.process.child;
  const one = upload(gateway, 8 * MIB);
  one.answered.catch(() => undefined);
  await one.send(4 * MIB);
  await expect.poll(() => openFilesIn(folder, pid)).toHaveLength(1);
  expect(readdirSync(folder)).toEqual([]);
  const lost = once(one.outgoing, 'error');
  await gateway.demo.process.kill('SIGKILL');
  await lost;
  expect(readdirSync(folder)).toEqual([]);
});

// The limit stands for a disk that is full: a write is cut short, the next one fails.
it('a file that cannot grow is 507, and the log says why', async () => {
  const gateway = await start();
  const { pid } = gateway.demo.process.child;
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${MIB + 1000}`]);
  const one = upload(gateway, 3 * MIB);
  one.outgoing.on('error', () => undefined);
  one.send(3 * MIB).catch(() => undefined);
  expect(await one.answered).toBe(507);
  await gateway.demo.process.until(/"code":"EFBIG".*a request body could not be stored/);
  await expect.poll(() => openFilesIn(folder, pid)).toEqual([]);

  const small = upload(gateway, MIB);
  await small.send(MIB);
  small.outgoing.end();
  expect(await small.answered).toBe(204);
});

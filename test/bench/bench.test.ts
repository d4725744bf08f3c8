import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const MAIN = fileURLToPath(new URL('../../bench/main.ts', import.meta.url));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-bench-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function start(...args: string[]) {
  return spawn(process.execPath, [MAIN, ...args], { env: { ...process.env, TMPDIR: folder } });
}

async function run(...args: string[]) {
  const child = start(...args);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { stdout, stderr, code };
}

describe('npm run bench', () => {
  it('measures every peer under every workload and reports it twice', { timeout: 60_000 }, async () => {
    const file = join(folder, 'result.json');
    const { stdout, code } = await run('--rounds', '1', '--seconds', '0.3', '--json', file);
    const report = JSON.parse(readFileSync(file, 'utf8'));

    const peers = ['countersign', 'countersign-redis', 'countersign-redis-only', 'http-proxy-3', 'nginx', 'node-http'];
    for (const workload of ['get-1k', 'post-1k']) {
      const results = report.results.filter((one: { workload: string }) => one.workload === workload);
      expect(results.map((one: { peer: string }) => one.peer)).toEqual(peers);
      for (const result of results) {
        if (result.status === 'missing' && result.peer === 'nginx') continue;
        expect(result).toMatchObject({ status: 'measured', samples: [{ requests: expect.any(Number) }] });
        expect(result.cpuMicros.median).toBeGreaterThan(0);
        expect(result.rate.median).toBeGreaterThan(0);
        expect(result.ratio.median).toBeGreaterThan(0);
      }
      const reference = results.find((one: { peer: string }) => one.peer === 'http-proxy-3');
      expect(reference.ratio).toEqual({ median: 1, min: 1, max: 1 });
    }
    expect(report.machine).toMatchObject({ cpu: expect.any(String), versions: { node: process.versions.node } });

    const rows = stdout.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| |'));
    expect(rows).toHaveLength(2 * peers.length);
    expect(stdout).toMatch(/^full job \/ bare http-proxy-3 \(GET 1 KB\): \d+\.\d\d \(target ≤ 0\.60\)$/m);
    expect(code).toBe(report.verdict.ratio <= report.verdict.target ? 0 : 1);
    expect(report.verdict.passed).toBe(code === 0);
  });

  it('ends its servers when it is interrupted', async () => {
    const child = start('--only', 'http-proxy-3,node-http,get-1k', '--rounds', '9');
    const exited = once(child, 'exit');
    const stdout = text(child.stdout);
    const ports: number[] = [];
    for await (const line of createInterface(child.stderr)) {
      const port = / on port (\d+)$/.exec(line)?.[1];
      if (port !== undefined) ports.push(Number(port));
      if (line.endsWith('warming up')) child.kill('SIGINT');
    }
    expect(await exited).toEqual([130, null]);
    expect(await stdout).toBe('');
    expect(ports).toHaveLength(2);
    for (const port of ports) {
      await expect(once(connect(port, '127.0.0.1'), 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    }
  });

  it('says what is wrong with a command line', async () => {
    expect(await run('--only', 'get-1k,apache')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no "apache"'),
    });
    expect(await run('--rounds', '0')).toMatchObject({ code: 2, stderr: expect.stringContaining('--rounds') });
    expect(await run('--faster')).toMatchObject({ code: 2, stderr: expect.stringContaining('--faster') });
  });
});

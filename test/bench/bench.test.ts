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
  it('measures peers under workloads and reports it as text, JSON and a chart', { timeout: 120_000 }, async () => {
    const out = join(folder, 'results');
    const only = 'countersign,countersign-redis,http-proxy-3,node-http';
    const how = ['--rounds', '1', '--seconds', '0.5', '--only', only, '--out', out];
    const { stdout, stderr, code } = await run(...how, '--workloads', 'latency,post-1k');
    const report = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8'));

    for (const workload of ['latency', 'post-1k']) {
      const results = report.results.filter((one: { workload: string }) => one.workload === workload);
      expect(results.map((one: { peer: string }) => one.peer).join()).toBe(only);
      for (const result of results) {
        expect(result, stderr).toMatchObject({ status: 'measured', samples: [{ units: expect.any(Number) }] });
        for (const measure of ['cpuMicros', 'rate', 'peakRssMb', 'ratio']) {
          expect(result[measure].median).toBeGreaterThan(0);
        }
        if (workload === 'latency') expect(result.p999.median).toBeGreaterThanOrEqual(result.p50.median);
      }
      const reference = results.find((one: { peer: string }) => one.peer === 'http-proxy-3');
      expect(reference.ratio).toEqual({ median: 1, min: 1, max: 1 });
    }
    expect(report.machine).toMatchObject({ cpu: expect.any(String), versions: { node: process.versions.node } });

    expect(readFileSync(join(out, 'report.md'), 'utf8')).toBe(stdout);
    expect(stdout.match(/^\| (?:Countersign|http-proxy-3|node:http)/gm)).toHaveLength(2 * 4);
    expect(stdout).toMatch(
      /^\| post-1k: CPU of countersign \/ http-proxy-3 ≤ 0\.40 \| \d+\.\d\d \| (?:met|missed) \|$/m,
    );
    expect(stdout).toContain('not measured: countersign under get-1k was not asked for');
    expect(readFileSync(join(out, 'report.svg'), 'utf8')).toContain('Countersign, full job, sessions in Redis');
    const missed = report.targets.some((one: { outcome: string }) => one.outcome === 'missed');
    expect(code).toBe(missed ? 1 : 0);
    expect(report.passed).toBe(!missed);
  });

  it('ends its servers when it is interrupted', async () => {
    const child = start('--only', 'http-proxy-3,node-http', '--workloads', 'get-1k', '--rounds', '9');
    const exited = once(child, 'exit');
    const stdout = text(child.stdout);
    const ports: number[] = [];
    for await (const line of createInterface(child.stderr)) {
      const port = / on port (\d+)$/.exec(line)?.[1];
      if (port !== undefined) ports.push(Number(port));
      if (line.endsWith('checking and warming up')) child.kill('SIGINT');
    }
    expect(await exited).toEqual([130, null]);
    expect(await stdout).toBe('');
    expect(ports).toHaveLength(2);
    for (const port of ports) {
      await expect(once(connect(port, '127.0.0.1'), 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    }
  });

  it('says what is wrong with a command line', async () => {
    expect(await run('--only', 'nginx,apache')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no "apache"'),
    });
    expect(await run('--workloads', 'nginx')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no "nginx"'),
    });
    expect(await run('--rounds', '0')).toMatchObject({ code: 2, stderr: expect.stringContaining('--rounds') });
    expect(await run('--faster')).toMatchObject({ code: 2, stderr: expect.stringContaining('--faster') });
  });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compare, lineOf, MARGIN } from '../../bench/guard/compare.ts';

const MAIN = fileURLToPath(new URL('../../bench/guard.ts', import.meta.url));
const RECORD = fileURLToPath(new URL('../../bench/recorded.json', import.meta.url));
const WORKLOADS = ['get-1k', 'post-1k', 'post-1m', 'download-10m'];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-guard-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function guard(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const short = ['--rounds', '1', '--seconds', '0.2', '--workloads', 'get-1k'];
  const child = spawn(process.execPath, [MAIN, ...short, ...args], { env: { ...process.env, TMPDIR: folder, ...env } });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { stdout, stderr, code };
}

/** The committed record with every ratio multiplied. */
function doctored(factor: number): string {
  const record = JSON.parse(readFileSync(RECORD, 'utf8'));
  for (const name of Object.keys(record.ratios)) record.ratios[name] *= factor;
  const file = join(folder, 'recorded.json');
  writeFileSync(file, JSON.stringify(record));
  return file;
}

/** Code that makes each request cost the gateway two milliseconds of CPU more, and nobody else anything. */
const SLOWER = `
  import { Server } from 'node:http';
  if (process.argv[1]?.endsWith('src/main.ts')) {
    const { emit } = Server.prototype;
    Server.prototype.emit = function (event, ...rest) {
      if (event === 'request') for (const end = performance.now() + 2; performance.now() < end; );
      return emit.call(this, event, ...rest);
    };
  }`;

describe('npm run bench:guard', () => {
  it('passes a gateway that costs what is recorded, and fails one that was made slower', {
    timeout: 120_000,
  }, async () => {
    const recorded = ['--recorded', doctored(4)];
    const passes = await guard(recorded);
    expect(passes.stdout).toMatch(/^holds get-1k /m);
    expect(passes.code).toBe(0);

    const slower = join(folder, 'slower.mjs');
    writeFileSync(slower, SLOWER);
    const fails = await guard(recorded, { NODE_OPTIONS: `--import=${pathToFileURL(slower)}` });
    expect(fails.stdout).toMatch(/^WORSE get-1k /m);
    expect(fails.stderr).toContain('a second look at get-1k');
    expect(fails.code).toBe(1);
  });

  it('fails when the gateway does not do its job', { timeout: 60_000 }, async () => {
    const broken = join(folder, 'broken.mjs');
    writeFileSync(broken, `if (process.argv[1]?.endsWith('src/main.ts')) process.exit(3);`);
    const { code, stderr } = await guard([], { NODE_OPTIONS: `--import=${pathToFileURL(broken)}` });
    expect(stderr).toMatch(/countersign is failed: ended with 3/);
    expect(code).toBe(1);
  });

  it('writes a record that it then accepts as one', { timeout: 60_000 }, async () => {
    const file = join(folder, 'new.json');
    expect((await guard(['--record', '--recorded', file])).code).toBe(0);
    const { ratios, reference } = JSON.parse(readFileSync(file, 'utf8'));
    expect(ratios).toEqual({ 'get-1k': expect.any(Number) });
    expect(reference).toBe('http-proxy-3');
    expect((await guard(['--recorded', file])).stdout).toContain(`recorded ${ratios['get-1k'].toFixed(2)}`);
  });

  it('says what is wrong with a record or a command line', async () => {
    const file = join(folder, 'bad.json');
    writeFileSync(file, '{"ratios":{"get-1k":0}}');
    for (const args of [['--recorded', file], ['--recorded', join(folder, 'none')], ['--rounds', '0'], ['--faster']]) {
      const { code, stderr } = await guard(args);
      expect(stderr).toContain(args.at(-1));
      expect(code).toBe(2);
    }
  });
});

describe('the committed record', () => {
  it('has a ratio for every workload that is guarded', () => {
    const { ratios } = JSON.parse(readFileSync(RECORD, 'utf8'));
    expect(Object.keys(ratios)).toEqual(WORKLOADS);
  });
});

describe('the comparison', () => {
  it('takes noise for noise and a clear change for one', () => {
    const of = (measured: number) => compare({ 'get-1k': measured }, { 'get-1k': 0.5 });
    expect(of(0.5 * MARGIN)).toMatchObject([{ worse: false }]);
    expect(of(0.5 * MARGIN + 0.01)).toMatchObject([{ worse: true }]);
    expect(of(0.7).map(lineOf)).toEqual(['WORSE get-1k        0.70, recorded 0.50 (+40 %), limit 0.65']);
    expect(of(0.4).map(lineOf)).toEqual(['holds get-1k        0.40, recorded 0.50 (-20 %), limit 0.65']);
  });

  it('asks for a record of what it has none of', () => {
    expect(() => compare({ 'get-2k': 1 }, { 'get-1k': 1 })).toThrow('nothing is recorded for get-2k');
  });
});

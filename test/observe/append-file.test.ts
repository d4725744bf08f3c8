import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppendFile } from '../../src/observe/append-file.ts';
import { auditLineSchema } from '../../src/observe/audit-event.ts';
import { openAudit } from '../../src/observe/open-audit.ts';
import { ROOT } from '../kit/cli.ts';
import { type Demo, signIn, startDemo } from '../kit/demo.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-audit-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const path = (name: string) => join(folder, name);
const read = (name: string) => readFileSync(path(name), 'utf8');
const quiet = { onFailure: () => undefined, onRecovery: () => undefined };

describe('a file of lines', () => {
  it('appends whole lines in order, behind what is there, readable by owner and group only', async () => {
    for (const round of ['a', 'b']) {
      const file = new AppendFile({ file: path('log'), ...quiet });
      for (let i = 0; i < 1000; i++) file.write(`${round}${i}`);
      await file.flush();
      expect(read('log').endsWith(`\n${round}999\n`)).toBe(true);
      file.write('last é');
      await file.close();
    }
    const numbers = Array.from({ length: 1000 }, (_, i) => i);
    const expected = ['a', 'b'].flatMap((round) => [...numbers.map((i) => `${round}${i}`), 'last é']);
    expect(read('log')).toBe(`${expected.join('\n')}\n`);
    expect(statSync(path('log')).mode & 0o007).toBe(0);
  });

  it('writes to a new file of its name once the old one has been moved away, and loses no line', async () => {
    const file = new AppendFile({ file: path('log'), ...quiet });
    file.write('one');
    await file.flush();
    renameSync(path('log'), path('log.1'));
    file.write('two');
    await file.flush();
    file.reopen();
    file.write('three');
    await file.close();
    expect([read('log.1'), read('log')]).toEqual(['one\ntwo\n', 'three\n']);
  });

  it('keeps the old file when there can be no new one, and says so', async () => {
    const failures: string[] = [];
    const file = new AppendFile({
      file: path('log'),
      onFailure: (error) => void failures.push((error as NodeJS.ErrnoException).code ?? ''),
      onRecovery: () => undefined,
    });
    file.write('one');
    await file.flush();
    const moved = `${folder}-moved`;
    renameSync(folder, moved);
    file.reopen();
    file.write('two');
    await file.close();
    renameSync(moved, folder);
    expect(read('log')).toBe('one\ntwo\n');
    expect(failures).toEqual(['ENOENT']);
  });

  it('writes what is left when the process ends without closing it', async () => {
    const module = pathToFileURL(join(ROOT, 'src/observe/append-file.ts')).href;
    const script = `
      const { AppendFile } = await import(${JSON.stringify(module)});
      const nothing = () => undefined;
      const file = new AppendFile({ file: ${JSON.stringify(path('log'))}, onFailure: nothing, onRecovery: nothing });
      file.write('one');
      file.write('two');
      process.exit(0);`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: 'inherit' });
    expect((await once(child, 'close'))[0]).toBe(0);
    expect(read('log')).toBe('one\ntwo\n');
  });
});

describe('a disk that is full', () => {
  it('is reported once, holds up nobody, and after it lines are as they were, or counted as lost', async () => {
    symlinkSync('/dev/full', path('log'));
    const logged: { level: string; fields: object }[] = [];
    const log = {
      error: (fields: object) => void logged.push({ level: 'error', fields }),
      warn: (fields: object) => void logged.push({ level: 'warn', fields }),
    };
    const settings = { file: path('log'), refusals: { requests: 1, window: 1000 } };
    const audit = openAudit(settings, { log, clock: () => 0 });
    const reload = (reason: string) =>
      audit.record({ event: 'reload', detail: { ok: true, reason, faults: 0, added: [], removed: [] } });
    reload('first');
    await audit.flush();
    reload('second');
    await audit.flush();
    expect(logged).toMatchObject([{ level: 'error', fields: { file: path('log'), err: { code: 'ENOSPC' } } }]);

    const long = 'x'.repeat(100_000);
    for (let i = 0; i < 20; i++) reload(long);
    await audit.flush();
    renameSync(path('log'), path('full'));
    audit.reopen();
    await audit.flush();
    reload('last');
    await audit.close();

    expect(logged.map(({ level }) => level)).toEqual(['error', 'warn']);
    const lines = read('log')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { event: string; detail: { reason?: string; count?: number } });
    const reasons = lines.flatMap(({ detail }) => detail.reason ?? []);
    expect([reasons[0], reasons[1], reasons.at(-1)]).toEqual(['first', 'second', 'last']);
    const lost = lines.find(({ event }) => event === 'lost')?.detail.count ?? 0;
    expect(lost).toBeGreaterThan(0);
    expect(reasons.filter((reason) => reason === long).length + lost).toBe(20);
  });
});

describe('the audit log of a process', () => {
  let demo: Demo | undefined;
  afterEach(async () => {
    await demo?.stop();
    demo = undefined;
  });

  it('goes to its file, starts a new one on SIGHUP, and is whole after SIGTERM', async () => {
    demo = await startDemo((yaml) => `${yaml}\naudit: { file: ${path('audit.jsonl')} }\n`);
    await signIn(demo.origin);
    await expect.poll(() => read('audit.jsonl')).toMatch(/"event":"login"/);
    renameSync(path('audit.jsonl'), path('audit.jsonl.1'));
    demo.process.child.kill('SIGHUP');
    await expect.poll(() => existsSync(path('audit.jsonl')) && read('audit.jsonl')).toMatch(/"event":"reload"/);
    expect((await fetch(`${demo.origin}/v2`)).status).toBe(401);
    expect(await demo.process.kill('SIGTERM')).toBe(0);
    const lines = read('audit.jsonl').split('\n');
    expect(lines.pop()).toBe('');
    expect(lines.map((line) => auditLineSchema.parse(JSON.parse(line)))).toMatchObject([
      { event: 'reload', detail: { ok: true, reason: 'SIGHUP', faults: 0 } },
      { event: 'refusal', code: 'unauthorized' },
    ]);
    expect(demo.process.stdout).not.toContain('"event":');
  });

  it('that cannot be opened is one clear line, before anything listens', async () => {
    const started = startDemo((yaml) => `${yaml}\naudit: { file: /nowhere/audit.jsonl }\n`);
    await expect(started).rejects.toThrow(
      /countersign serve: the audit log \/nowhere\/audit\.jsonl cannot be opened: ENOENT[^\n]*\n$/,
    );
  });
});

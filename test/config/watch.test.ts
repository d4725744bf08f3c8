import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ConfigWatch, type ConfigWatchOptions, type ReloadResult } from '../../src/config/watch.ts';
import { folderOf, MINIMAL } from './fixture.ts';

const HASH = '$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA';
const ENV = { VISITOR_SECRET: 'the-visitor-secret' };
/** Long enough that nothing in a test can be the poll's doing. */
const NEVER = 3_600_000;

const WITH_FILES = MINIMAL.replace('{ env: VISITOR_SECRET }', '{ file: visitor-secret }').replace(
  'visitor: { role: visitor }',
  'password: { users: users.yaml }',
);
const FILES = { 'visitor-secret': 'one\n', 'users.yaml': `ada: { password: "${HASH}", roles: [visitor] }\n` };

function watchFile(file: string, options: ConfigWatchOptions = {}): ConfigWatch {
  const watch = new ConfigWatch(file, { env: ENV, debounce: 20, poll: NEVER, ...options });
  onTestFinished(() => watch.close());
  return watch;
}

/** The next reload; ask before what causes it. */
function nextReload(watch: ConfigWatch): Promise<ReloadResult> {
  return new Promise((resolve) => {
    const stop = watch.onReload((result) => {
      stop();
      resolve(result);
    });
  });
}

/** Replaces a file in one step, as editors and deployment tools do. */
function replaceFile(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

const secretOf = (watch: ConfigWatch) =>
  watch.current.tenants[0]?.keypairs.get('visitor')?.pick(Date.now())?.secretKey.reveal();
const version = (text: string, to: string) => text.replace('v4.20190315', to);
const versionOf = (watch: ConfigWatch) => watch.current.tenants[0]?.upstream.version;

describe('a change is seen', () => {
  it.each([
    ['written in place', writeFileSync],
    ['replaced', replaceFile],
  ])('of the configuration file, %s', async (_how, write) => {
    const file = join(folderOf({ 'countersign.yaml': MINIMAL }), 'countersign.yaml');
    const watch = watchFile(file);
    const before = watch.current;
    const reloaded = nextReload(watch);
    write(file, version(MINIMAL, 'v5.20200101'));
    expect(await reloaded).toMatchObject({ ok: true, reason: 'file changed', faults: [] });
    expect(versionOf(watch)).toBe('v5.20200101');
    expect(before.tenants[0]?.upstream.version).toBe('v4.20190315');
  });

  it('of a secret file and of a users file', async () => {
    const folder = folderOf({ ...FILES, 'countersign.yaml': WITH_FILES });
    const watch = watchFile(join(folder, 'countersign.yaml'));
    expect(secretOf(watch)).toBe('one');

    const first = nextReload(watch);
    replaceFile(join(folder, 'visitor-secret'), 'two\n');
    await first;
    expect(secretOf(watch)).toBe('two');

    const second = nextReload(watch);
    replaceFile(join(folder, 'users.yaml'), `bob: { password: "${HASH}", roles: [visitor] }\n`);
    await second;
    expect([...(watch.current.tenants[0]?.login.password?.users.keys() ?? [])]).toEqual(['bob']);
  });

  it('of a ConfigMap: kubelet swaps the link ..data, and configuration and secret change as one', async () => {
    const folder = folderOf({});
    const publish = (name: string, files: Record<string, string>) => {
      mkdirSync(join(folder, name));
      for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, name, file), text);
      symlinkSync(name, join(folder, '..data_tmp'));
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    };
    publish('..2026_01', { ...FILES, 'countersign.yaml': WITH_FILES });
    for (const name of [...Object.keys(FILES), 'countersign.yaml'])
      symlinkSync(join('..data', name), join(folder, name));
    const watch = watchFile(join(folder, 'countersign.yaml'));

    for (const [i, secret] of ['two', 'three'].entries()) {
      const reloaded = nextReload(watch);
      publish(`..2026_1${i}`, {
        ...FILES,
        'visitor-secret': secret,
        'countersign.yaml': version(WITH_FILES, `v${i + 5}.20200101`),
      });
      expect((await reloaded).faults).toEqual([]);
      expect([versionOf(watch), secretOf(watch)]).toEqual([`v${i + 5}.20200101`, secret]);
      rmSync(join(folder, i === 0 ? '..2026_01' : `..2026_1${i - 1}`), { recursive: true });
    }
  });

  it('of a link whose folder is not watched, by polling', async () => {
    const targets = folderOf({ 'a.yaml': MINIMAL, 'b.yaml': version(MINIMAL, 'v5.20200101') });
    const links = folderOf({});
    const place = folderOf({});
    symlinkSync(join(targets, 'a.yaml'), join(links, 'current.yaml'));
    symlinkSync(join(links, 'current.yaml'), join(place, 'countersign.yaml'));
    const watch = watchFile(join(place, 'countersign.yaml'), { poll: 30 });
    const reloaded = nextReload(watch);
    symlinkSync(join(targets, 'b.yaml'), join(links, 'next.yaml'));
    renameSync(join(links, 'next.yaml'), join(links, 'current.yaml'));
    await reloaded;
    expect(versionOf(watch)).toBe('v5.20200101');
  });

  it('of a folder that was taken away and put back', async () => {
    const parent = folderOf({});
    const folder = join(parent, 'config');
    const file = join(folder, 'countersign.yaml');
    mkdirSync(folder);
    writeFileSync(file, MINIMAL);
    const watch = watchFile(file, { poll: 30 });
    const gone = nextReload(watch);
    rmSync(folder, { recursive: true });
    expect(await gone).toMatchObject({ ok: false, faults: [{ message: 'no such file' }] });
    const back = nextReload(watch);
    mkdirSync(folder);
    writeFileSync(file, version(MINIMAL, 'v5.20200101'));
    expect((await back).ok).toBe(true);
    expect(versionOf(watch)).toBe('v5.20200101');
  });

  it('only when there was one: other files of the folder are nobody’s business', async () => {
    const folder = folderOf({ 'countersign.yaml': MINIMAL });
    const watch = watchFile(join(folder, 'countersign.yaml'));
    const results: ReloadResult[] = [];
    watch.onReload((result) => results.push(result));
    writeFileSync(join(folder, 'unrelated'), 'x');
    const reloaded = nextReload(watch);
    replaceFile(join(folder, 'countersign.yaml'), version(MINIMAL, 'v5.20200101'));
    await reloaded;
    expect(results).toHaveLength(1);
  });

  it('no more once it is closed', async () => {
    const file = join(folderOf({ 'countersign.yaml': MINIMAL }), 'countersign.yaml');
    const watch = watchFile(file);
    watch.close();
    replaceFile(file, version(MINIMAL, 'v5.20200101'));
    await watch.reload('test');
    expect(versionOf(watch)).toBe('v4.20190315');
  });
});

describe('a bad file', () => {
  it('keeps the old snapshot, says why, counts, and a mended one is taken', async () => {
    const file = join(folderOf({ 'countersign.yaml': MINIMAL }), 'countersign.yaml');
    const watch = watchFile(file);
    const before = watch.current;
    const refused = nextReload(watch);
    replaceFile(file, `${MINIMAL.replace('origins', 'orgins')}drain: soon\n`);
    const result = await refused;
    expect(result).toMatchObject({ ok: false, added: [], removed: [] });
    expect(result.faults.map(({ path }) => path)).toEqual(['tenants.acme.orgins', 'drain']);
    expect([watch.current, watch.failures, watch.lastReload]).toEqual([before, 1, result]);
    expect(watch.current).toBe(before);

    const mended = nextReload(watch);
    replaceFile(file, version(MINIMAL, 'v5.20200101'));
    await mended;
    expect([versionOf(watch), watch.failures, watch.lastReload.ok]).toEqual(['v5.20200101', 1, true]);
  });

  it('that lacks only a secret is taken when the secret appears', async () => {
    const folder = folderOf({ 'countersign.yaml': MINIMAL });
    const watch = watchFile(join(folder, 'countersign.yaml'));
    const refused = nextReload(watch);
    replaceFile(join(folder, 'countersign.yaml'), MINIMAL.replace('{ env: VISITOR_SECRET }', '{ file: late }'));
    expect((await refused).faults[0]?.message).toMatch(/secret file .*late cannot be read \(ENOENT\)/);
    const taken = nextReload(watch);
    replaceFile(join(folder, 'late'), 'at last');
    expect((await taken).ok).toBe(true);
    expect(secretOf(watch)).toBe('at last');
  });

  it('at the start is refused with every fault', () => {
    const file = join(folderOf({ 'countersign.yaml': 'drain: soon\nnonsense: 1\n' }), 'countersign.yaml');
    expect(() => new ConfigWatch(file)).toThrow(/drain: .*\n.*tenants: missing\n.*nonsense: unknown key/);
  });
});

describe('what a reload keeps', () => {
  it('a keypair that did not change, with its quota; one with another secret is a new one', async () => {
    const folder = folderOf({ ...FILES, 'countersign.yaml': WITH_FILES });
    const watch = watchFile(join(folder, 'countersign.yaml'));
    const keypair = () => watch.current.tenants[0]?.keypairs.get('visitor')?.pick(Date.now());
    const first = keypair();
    if (first === undefined) throw new Error('no keypair');
    first.quota = { limit: '10', remaining: '9', reset: '8' };
    for (let i = 0; i < 3; i++) await watch.reload('test');
    expect(keypair()).toBe(first);
    writeFileSync(join(folder, 'visitor-secret'), 'two');
    await watch.reload('test');
    expect(keypair()).not.toBe(first);
    expect(keypair()?.quota).toBeUndefined();
  });

  it('listeners, stores and the like, with a warning for each that changed; the rest is new', async () => {
    const text = (port: number, store: string, proxies: string, drain: string) =>
      `${MINIMAL}listen: { port: ${port}, trustProxies: [${proxies}] }\nsessions: { store: "${store}", idle: ${drain}, nearCache: { maxAge: ${drain} } }\ndrain: ${drain}\n`;
    const file = join(folderOf({ 'countersign.yaml': text(8080, 'memory', '10.0.0.0/8', '1s') }), 'countersign.yaml');
    const watch = watchFile(file);
    const { store } = watch.current.sessions;
    writeFileSync(file, text(9999, 'redis://:hunter2@127.0.0.1/0', '192.168.0.0/16', '2s'));
    const { ok, warnings } = await watch.reload('test');
    expect(ok).toBe(true);
    expect(warnings.map(({ path, line, message }) => [path, line, message])).toEqual([
      ['listen.port', 14, expect.stringContaining('needs a restart')],
      ['sessions.store', 15, expect.stringContaining('needs a restart')],
      ['sessions.nearCache', 15, expect.stringContaining('needs a restart')],
      ['sessions.store', 15, expect.stringContaining('stands in the file')],
    ]);
    expect(JSON.stringify(warnings)).not.toContain('hunter2');
    expect(watch.current.listen).toMatchObject({ port: 8080, trustProxies: ['192.168.0.0/16'] });
    expect(watch.current.sessions.store).toBe(store);
    expect([watch.current.drain, watch.current.sessions.lifetime.idle]).toEqual([2000, 2000]);
    // Still not in force, so it still needs a restart.
    expect((await watch.reload('again')).warnings).toHaveLength(4);
    writeFileSync(file, text(8080, 'memory', '10.0.0.0/8', '1s'));
    expect((await watch.reload('back')).warnings).toEqual([]);
  });

  it('room for request bodies', async () => {
    const file = join(folderOf({ 'countersign.yaml': MINIMAL }), 'countersign.yaml');
    const watch = watchFile(file);
    const { bodies } = watch.current;
    writeFileSync(file, `${MINIMAL}bodies: { disk: 1GiB }\n`);
    expect((await watch.reload('test')).warnings).toMatchObject([{ path: 'bodies' }]);
    expect(watch.current.bodies).toEqual(bodies);
  });

  it('the audit log, which stays where it was opened', async () => {
    const file = join(folderOf({ 'countersign.yaml': `${MINIMAL}audit: { file: stderr }\n` }), 'countersign.yaml');
    const watch = watchFile(file);
    writeFileSync(file, `${MINIMAL}audit: { file: audit.jsonl }\n`);
    expect((await watch.reload('test')).warnings).toMatchObject([{ path: 'audit' }]);
    expect(watch.current.audit).toEqual({ file: 'stderr', refusals: { requests: 60, window: 60_000 } });
  });

  it('and tells which tenants came and went', async () => {
    const file = join(folderOf({ 'countersign.yaml': MINIMAL }), 'countersign.yaml');
    const watch = watchFile(file);
    expect(watch.lastReload).toMatchObject({ ok: true, reason: 'start', added: ['acme'] });
    writeFileSync(file, MINIMAL.replace('acme:', 'globex:'));
    expect(await watch.reload('test')).toMatchObject({ added: ['globex'], removed: ['acme'] });
  });
});

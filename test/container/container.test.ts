import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DemoConfig, ROOT, startGateway, writeDemoConfig } from '../browser/demo-gateway.ts';
import { KIT_TLS, startGateway as startTestGateway } from '../kit/gateway.ts';
import { copiedFromContext, execForm, parseDockerfile } from './dockerfile.ts';

const instructions = parseDockerfile(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'));

/** The values of all instructions of this keyword, in order. */
function all(keyword: string): string[] {
  return instructions.filter((instruction) => instruction.keyword === keyword).map(({ value }) => value);
}

/** The value of the only instruction of this keyword. */
function only(keyword: string): string {
  const [value, ...more] = all(keyword);
  if (value === undefined || more.length > 0) throw new Error(`expected one ${keyword}, found ${all(keyword).length}`);
  return value;
}

const entrypoint = () => execForm(only('ENTRYPOINT'));
const healthcheck = () => execForm(only('HEALTHCHECK').replace(/^.*?CMD\s+/, ''));

describe('the Dockerfile', () => {
  it('builds on one official Node image of an exact version, the one that development uses', () => {
    const images = all('FROM').map((value) => value.split(' ')[0]);
    expect(images).toHaveLength(2);
    expect(new Set(images).size).toBe(1);
    const [, major, minor] = process.version.match(/^v(\d+)\.(\d+)/) ?? [];
    expect(images[0]).toBe(`node:${major}.${minor}-slim`);
  });

  it('installs production packages only, and none of their install scripts', () => {
    expect(only('RUN')).toMatch(/^npm ci --omit=dev --ignore-scripts /);
  });

  it('runs as a numbered user that is not root', () => {
    expect(only('USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  });

  it('starts the gateway without a shell, so that SIGTERM reaches it', () => {
    expect(entrypoint()).toEqual(['node', 'src/main.ts']);
    expect(execForm(only('CMD'))).toEqual(['serve', '/etc/countersign/countersign.yaml']);
    expect(only('STOPSIGNAL')).toBe('SIGTERM');
    expect(only('EXPOSE')).toBe('8080');
    expect(healthcheck().join(' ')).toContain('://127.0.0.1:8080/-/livez');
  });

  it('finds a gateway healthy that ends TLS itself, whatever its certificate is for', async () => {
    const { gateway, upstream } = await startTestGateway({ listen: { tls: KIT_TLS } });
    const [, ...check] = healthcheck().map((word) => word.replace(':8080', `:${gateway.port}`));
    const health = async () => {
      const [code] = await once(spawn(process.execPath, check, { stdio: 'ignore' }), 'close');
      return code;
    };
    expect(await health()).toBe(0);
    await gateway.close();
    await upstream.close();
    expect(await health()).toBe(1);
  });

  it('copies named files only, and .dockerignore lets nothing else into the build', () => {
    const allowed = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(allowed[0]).toBe('*');
    const sources = [...new Set(copiedFromContext(instructions))];
    expect(allowed.slice(1).toSorted()).toEqual(sources.map((source) => `!${source}`).toSorted());
    expect(all('ADD')).toEqual([]);
  });
});

describe('what the image would hold', () => {
  let folder: string;
  let app: string;
  let node: string;
  let config: DemoConfig;
  /** The image's user, where this test may become another one; else whoever runs it. */
  const user = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : {};

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'countersign-image-'));
    app = join(folder, 'app');
    node = join(folder, 'node');
    mkdirSync(app);
    for (const source of copiedFromContext(instructions)) {
      cpSync(join(ROOT, source), join(app, source), { recursive: true });
    }
    const built = spawnSync('sh', ['-c', only('RUN')], { cwd: app, encoding: 'utf8' });
    if (built.status !== 0) throw new Error(`${only('RUN')} failed:\n${built.stderr}`);
    // The checkout's own Node may be where no other user can reach it.
    cpSync(process.execPath, node);
    config = await writeDemoConfig(folder);
    chmodSync(folder, 0o755);
    chmodSync(config.file, 0o644);
    spawnSync('chmod', ['-R', 'a-w,a+rX', app]);
  });

  afterAll(() => {
    spawnSync('chmod', ['-R', 'u+w', app]);
    rmSync(folder, { recursive: true, force: true });
  });

  const options = () => ({ cwd: app, env: { NODE_ENV: 'production', PATH: '' }, ...user });
  const command = () => entrypoint().slice(1);

  it('has no second Node, no development package and no test', () => {
    const packages = readdirSync(join(app, 'node_modules'));
    expect(packages).toContain('ioredis');
    for (const absent of ['node', 'vitest', 'typescript', 'playwright-core', '@biomejs']) {
      expect(packages).not.toContain(absent);
    }
    expect(existsSync(join(app, 'test'))).toBe(false);
  });

  it('says its version', () => {
    const { stdout, status } = spawnSync(node, [...command(), '--version'], { ...options(), encoding: 'utf8' });
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(stdout).toBe(`${version}\n`);
    expect(status).toBe(0);
  });

  it('serves from a folder it cannot write to, is healthy while it does, and stops cleanly on SIGTERM', async () => {
    const [, ...check] = healthcheck().map((word) => word.replace(':8080', `:${config.port}`));
    const health = () => spawnSync(node, check, options()).status;
    const gateway = await startGateway(node, [...command(), 'serve', config.file], options());
    expect(health()).toBe(0);
    const page = await fetch(`http://127.0.0.1:${config.port}/-/session`);
    expect(await page.json()).toMatchObject({ authenticated: false, tenant: 'demo' });
    expect(await gateway.stop()).toBe(0);
    expect(health()).toBe(1);
  });
});

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditLineSchema } from '../src/observe/audit-event.ts';
import { load, MINIMAL } from './config/fixture.ts';
import { Authority } from './kit/certificates.ts';
import { cli, MAIN, ROOT } from './kit/cli.ts';
import { type Demo, signIn, startDemo } from './kit/demo.ts';
import { freePort } from './kit/free-port.ts';
import { codesOf, commandsOf, deadLinks, readMarkdown } from './kit/markdown.ts';
import { startRedis, type TestRedis } from './kit/redis.ts';
import { mergeYaml } from './kit/yaml.ts';

const GUIDE = readMarkdown('docs/operations.md');
const TOKEN = 'an-operator-token-of-some-length';

/** A configuration that each of the guide's is laid over. */
const BASE = mergeYaml(
  MINIMAL,
  'tenants: { acme: { keypairs: { admin: { accessKey: AKIAADMIN, secretKey: { file: acme-admin } } } } }',
);

/** The PEM files the guide names. */
function certificates(): Record<string, string> {
  const authority = new Authority();
  try {
    const [edge, client] = [authority.issue(['DNS:console.acme.example']), authority.issue([])];
    return {
      ...{ 'tls.crt': edge.cert, 'tls.key': edge.key, 'service-ca.pem': authority.ca.cert },
      ...{ 'gateway.crt': client.cert, 'gateway.key': client.key },
    };
  } finally {
    authority.remove();
  }
}

const commandsIn = (title: string) => GUIDE.section(title).blocks('sh').flatMap(commandsOf);
const yamlIn = (title: string) => GUIDE.section(title).blocks('yaml');

it('has no command that nothing runs', () => {
  const withCommands = GUIDE.titles.filter((title) => commandsIn(title).length > 0);
  expect(withCommands).toEqual([
    'Configuration',
    'Secrets',
    'Users',
    'Reload',
    'Workers',
    'Operator listener',
    'Audit log',
    'Tracing',
    'doctor',
    'smoke',
  ]);
});

it('its links lead somewhere', () => {
  expect(deadLinks('docs/operations.md')).toEqual([]);
  expect(deadLinks('docs/ci.md')).toEqual([]);
});

it('its configurations load, and none is dangerous', () => {
  const env = { VISITOR_SECRET: 's', SESSION_STORE: 'redis://user:password@127.0.0.1:6379/0', OPERATOR_TOKEN: TOKEN };
  const key = (byte: number) => Buffer.alloc(32, byte).toString('base64');
  const files = {
    'seal-key': key(1),
    'seal-key-new': key(2),
    'operator-token': TOKEN,
    'acme-admin': 'secret',
    'acme-admin-next': 'secret',
    ...certificates(),
    'users.yaml': readMarkdown('README.md').blocks('yaml')[1] ?? '',
  };
  const blocks = GUIDE.blocks('yaml');
  expect(blocks).toHaveLength(11);
  for (const block of blocks) {
    const here = block.replaceAll('/run/secrets/', './').replaceAll('/etc/countersign/', './');
    expect(load(mergeYaml(BASE, here), env, files).warnings, block).toEqual([]);
  }
  const rings = yamlIn('Keypair rotation').map((block) => {
    const text = mergeYaml(BASE, block.replaceAll('/run/secrets/', './'));
    return load(text, env, files)
      .snapshot.tenants[0]?.keypairs.get('admin')
      ?.members.map(({ state }) => state);
  });
  expect(rings).toEqual([
    ['active', 'next'],
    ['active', 'retired'],
  ]);
});

it('its table of settings has every key of the configuration', async () => {
  const { properties } = JSON.parse((await cli(['schema'])).stdout) as { properties: object };
  const keys = GUIDE.section('Configuration').rows.flatMap(([cell = '']) => codesOf(cell));
  expect(keys.sort()).toEqual(Object.keys(properties).sort());
});

describe('beside a gateway', () => {
  let redis: TestRedis;
  let demo: Demo;
  let folder: string;
  let operator: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'countersign-docs-'));
    mkdirSync(join(folder, 'bin'));
    writeFileSync(join(folder, 'bin/countersign'), `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`);
    chmodSync(join(folder, 'bin/countersign'), 0o755);
    writeFileSync(join(folder, 'password.txt'), 'correct horse\n');
    const port = await freePort();
    operator = `http://127.0.0.1:${port}`;
    const own = [...yamlIn('Operator listener'), ...yamlIn('Audit log'), ...yamlIn('Workers')].map((block) =>
      block.replaceAll('9090', String(port)).replaceAll('/var/log/countersign', folder),
    );
    redis = await startRedis();
    const sessions = `sessions: { store: "${redis.url}" }`;
    demo = await startDemo((yaml) => mergeYaml(yaml, sessions, ...own), { OPERATOR_TOKEN: TOKEN });
  });
  afterAll(async () => {
    await demo?.stop();
    await redis?.stop();
    rmSync(folder, { recursive: true });
  });

  /** The command as the guide has it, but for the names of what it is run against. */
  const here = (command: string) =>
    command
      .replaceAll('/etc/countersign/countersign.yaml', demo.file)
      .replaceAll('/var/log/countersign', folder)
      .replaceAll('http://127.0.0.1:9090', operator)
      .replaceAll('https://console.acme.example', demo.origin)
      .replaceAll(/(--tenant |tenant=)acme/g, '$1demo')
      .replaceAll('subject=ada', 'subject=admin');

  /** Runs all commands of a section in order; each must succeed and complain of nothing. Gives what they printed. */
  function run(title: string): string[] {
    const env = {
      ...process.env,
      PATH: [join(folder, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter),
      GATEWAY_PID: String(demo.process.child.pid),
      OPERATOR_TOKEN: TOKEN,
    };
    return commandsIn(title).map((command) => {
      const options = { cwd: folder, env, encoding: 'utf8', timeout: 60_000 } as const;
      const { status, stdout, stderr } = spawnSync('sh', ['-c', here(command)], options);
      expect([status, stderr], command).toEqual([0, '']);
      return stdout;
    });
  }

  it('Configuration: the file is checked, the schema printed', async () => {
    const [words, json] = run('Configuration');
    expect(words).toMatch(/: sound\n$/);
    expect(JSON.parse(json ?? '')).toMatchObject({ ok: true, faults: [], warnings: [] });
    expect(readFileSync(join(folder, 'countersign.schema.json'), 'utf8')).toBe((await cli(['schema'])).stdout);
  });

  it('Secrets: what is made is private and can be used', () => {
    run('Secrets');
    for (const name of ['seal-key', 'operator-token']) expect(statSync(join(folder, name)).mode & 0o077).toBe(0);
    const config = `
sessions: { sealKeys: [{ file: ${join(folder, 'seal-key')} }] }
operator: { host: 0.0.0.0, token: { file: ${join(folder, 'operator-token')} } }`;
    const { operator: settings } = load(mergeYaml(MINIMAL, config), { VISITOR_SECRET: 's' });
    expect(settings?.token?.reveal()).toMatch(/^[0-9a-f]{64}$/);
  });

  it('Users: the password is hashed', () => {
    expect(run('Users')).toEqual([expect.stringMatching(/^\$argon2id\$v=19\$/)]);
  });

  it('Reload: a checked file is taken', async () => {
    run('Reload');
    await demo.process.until(/"reason":"SIGHUP".*"msg":"configuration reloaded"/);
  });

  it('Workers: they are replaced', async () => {
    run('Workers');
    await demo.process.until(/"msg":"the workers are replaced"/);
  });

  it('Operator listener: each call answers, and does what it says', async () => {
    const cookie = await signIn(demo.origin, { method: 'password', username: 'admin', password: 'countersign-demo' });
    const [live, ready, metrics, status, sessions, ended, reload, level] = run('Operator listener');
    expect(JSON.parse(live ?? '')).toEqual({ status: 'alive' });
    expect(JSON.parse(ready ?? '')).toMatchObject({ status: 'ready' });
    expect(metrics).toContain('countersign_build_info');
    expect(JSON.parse(status ?? '')).toMatchObject({ ready: true });
    expect(JSON.parse(sessions ?? '')).toMatchObject({ sessions: [{ subject: 'admin' }] });
    expect(JSON.parse(ended ?? '')).toEqual({ ended: 1 });
    expect((await fetch(`${demo.origin}/v2`, { headers: { Cookie: cookie } })).status).toBe(401);
    expect(JSON.parse(reload ?? '')).toMatchObject({ ok: true });
    expect(JSON.parse(level ?? '')).toEqual({ level: 'debug' });
  });

  it('Operator listener: its paths are those of the API, neither more nor fewer', async () => {
    const headers = { Authorization: `Bearer ${TOKEN}` };
    const { paths } = (await (await fetch(`${operator}/openapi.json`, { headers })).json()) as {
      paths: Record<string, Record<string, unknown>>;
    };
    const served = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const [first] = GUIDE.section('Operator listener').text.split('| metric |');
    const told = codesOf(first ?? '').filter((code) => /^[A-Z]+ \//.test(code));
    expect(told.sort()).toEqual(served.sort());
  });

  it('Operator listener: its metrics are those that are measured', async () => {
    const headers = { Authorization: `Bearer ${TOKEN}` };
    const text = await (await fetch(`${operator}/metrics`, { headers })).text();
    const measured = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
    const { rows } = GUIDE.section('Operator listener');
    const told = rows.flatMap(([cell = '']) => codesOf(cell)).filter((code) => code.startsWith('countersign_'));
    expect(told.sort()).toEqual(measured.filter((name) => name.startsWith('countersign_')).sort());
    const mentioned = [...GUIDE.text.matchAll(/\b(?:countersign|nodejs|process)_\w+/g)].map(([name]) => name);
    expect(measured).toEqual(expect.arrayContaining(mentioned));
  });

  it('Audit log: moved away, it goes on in a file of its own', async () => {
    run('Audit log');
    const linesOf = (name: string) => readFileSync(join(folder, name), 'utf8').trim().split('\n');
    await expect.poll(() => linesOf('audit.jsonl').join()).toContain('"event":"reload"');
    const lines = [...linesOf('audit.jsonl.1'), ...linesOf('audit.jsonl')].map((line) => JSON.parse(line) as unknown);
    for (const line of lines) expect(() => auditLineSchema.parse(line)).not.toThrow();
  });

  it('doctor: finds nothing wrong', () => {
    const [words, json] = run('doctor');
    expect(words).toContain('All is well.');
    expect(JSON.parse(json ?? '')).toMatchObject({ ok: true });
  });

  it('smoke: the gateway keeps its contracts', () => {
    run('smoke');
    expect(readFileSync(join(folder, 'smoke.xml'), 'utf8')).toMatch(/^<\?xml/);
  });

  it('Tracing: otel.mjs, loaded first, exports the spans of each request by the SDK the guide names', async () => {
    const [, spec = ''] = /`npm install (\S+)`/.exec(GUIDE.section('Tracing').text) ?? [];
    const [, name, major] = /^(.+)@(\d+)$/.exec(spec) ?? [];
    const installed = JSON.parse(readFileSync(join(ROOT, `node_modules/${name}/package.json`), 'utf8'));
    expect(installed.version.split('.')[0]).toBe(major);
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'otel.mjs'), GUIDE.section('Tracing').blocks('js')[0] ?? '');
    const command = commandsIn('Tracing').map((line) => /^node (--import) (\S+) src\/main\.ts serve \S+$/.exec(line));
    expect(command).toEqual([expect.arrayContaining(['--import', './otel.mjs'])]);

    const heard: Record<string, unknown>[] = [];
    const upstream = createServer((request, response) => {
      heard.push(request.headers);
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    const endpoint = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    const traced = await startDemo(
      (yaml) =>
        mergeYaml(
          yaml,
          `tenants: { demo: { upstream: { endpoints: ["${endpoint}"] } } }`,
          'listen: { trustProxies: [127.0.0.1] }',
        ),
      { NODE_OPTIONS: `--import ${join(folder, 'otel.mjs')}` },
    );
    try {
      const [traceId, peer] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];
      const headers = { traceparent: `00-${traceId}-${peer}-01`, tracestate: 'rojo=1' };
      const Cookie = await signIn(traced.origin);
      await (await fetch(`${traced.origin}/v2`, { headers: { ...headers, Cookie } })).text();
      expect(await traced.process.kill('SIGTERM')).toBe(0);
      const spans = exportedSpans(traced.process.stdout).filter((span) => span.traceId === traceId);
      const [client, server, ...others] = spans;
      expect(others).toEqual([]);
      expect(server).toMatchObject({ name: 'GET /v2', kind: 1, parent: peer });
      expect(client).toMatchObject({ name: 'GET /v2', kind: 2, parent: server?.id });
      expect(heard.at(-1)).toMatchObject({ traceparent: `00-${traceId}-${client?.id}-01`, tracestate: 'rojo=1' });
    } finally {
      await traced.stop();
      upstream.close();
    }
  });
});

/** The spans that the SDK's console exporter printed. */
function exportedSpans(output: string) {
  return [...output.matchAll(/^\{\n {2}resource: [\s\S]*?^\}$/gm)].map(([span]) => {
    const field = (name: string) => new RegExp(`^  ${name}: '?([^',\n]*)`, 'm').exec(span)?.[1];
    const [, parent] = /^ {2}parentSpanContext: \{[^}]*?\bspanId: '(\w+)'/m.exec(span) ?? [];
    return { traceId: field('traceId'), name: field('name'), id: field('id'), kind: Number(field('kind')), parent };
  });
}

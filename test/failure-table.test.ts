import { once } from 'node:events';
import { appendFileSync, copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { pathToFileURL } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { CliProcess, ROOT } from './kit/cli.ts';
import { signIn, startDemo } from './kit/demo.ts';
import { freePort } from './kit/free-port.ts';
import { readMarkdown } from './kit/markdown.ts';
import { startRedis } from './kit/redis.ts';
import { mergeYaml } from './kit/yaml.ts';

const { rows } = readMarkdown('docs/operations.md').section('When something breaks');

/** What the table says of a failure; each of `facts`, which the test sees happen, must be in it. */
function tableSays(failure: string, ...facts: readonly string[]): void {
  const [row, ...others] = rows.filter(([what]) => what?.startsWith(`**${failure}**`));
  expect(others).toEqual([]);
  for (const fact of facts) expect(row?.join(' | ').replaceAll('`', ''), failure).toContain(fact);
}

/** The demo with `overlay` laid over its configuration and an operator listener. */
async function start(overlay = '{}', env: Readonly<Record<string, string>> = {}) {
  const demo = await startDemo((yaml) => mergeYaml(yaml, 'operator: { port: 0 }', overlay), env);
  onTestFinished(() => demo.stop());
  const operator = /countersign for operators: (\S+)/.exec(demo.process.stderr)?.[1] ?? '';
  const get = async (path: string, cookie = '') => {
    const response = await fetch(`${demo.origin}${path}`, { headers: { Cookie: cookie } });
    const { type } = (await response.json().catch(() => ({}))) as { type?: string };
    return `${response.status} ${type?.split('/').at(-1) ?? ''}`.trim();
  };
  return {
    demo,
    get,
    logs: (pattern: RegExp) => demo.process.until(pattern),
    /** The answer of `/readyz`, its status in front. */
    async readyz() {
      const response = await fetch(`${operator}/readyz`);
      return [response.status, await response.json()] as const;
    },
    /** The sum of a metric's samples whose labels match. */
    async metric(name: string, labels = /(?:)/) {
      const text = await (await fetch(`${operator}/metrics`)).text();
      const samples = [...text.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm'))];
      return samples
        .filter(([, given = '']) => labels.test(given))
        .reduce((sum, [, , value]) => sum + Number(value), 0);
    },
  };
}

const upstream = (settings: string) => `tenants: { demo: { upstream: { ${settings} } } }`;

/** A server of TCP that does with each connection what it is told. */
async function tcp(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    onConnection(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('Redis is down', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const { demo, get, logs, readyz, metric } = await start(`sessions: { store: "${redis.url}/0" }`);
  const cookie = await signIn(demo.origin);
  expect((await readyz())[0]).toBe(200);
  await redis.kill();
  await logs(/the session store is out of reach/);
  expect(await get('/v2', cookie)).toBe('503 session-store-unavailable');
  expect(await get('/v2')).toBe('401 unauthorized');
  expect((await fetch(demo.origin)).status).toBe(200);
  await expect.poll(readyz).toMatchObject([503, { checks: { sessionStore: 'down' } }]);
  expect(await metric('countersign_session_store_up')).toBe(0);
  tableSays('Redis is down', '503 session-store-unavailable', 'the session store is out of reach', 'sessionStore down');
  await redis.restart();
  await expect.poll(async () => (await readyz())[0]).toBe(200);
  expect(await get('/v2', cookie)).toBe('401 unauthorized');
});

it('Redis does not tell of changes', async () => {
  const redis = await startRedis(['--user default on nopass ~* &* +@all -client|tracking']);
  onTestFinished(() => redis.stop());
  const { demo, get, logs, readyz, metric } = await start(`sessions: { store: "${redis.url}/0" }`);
  await logs(/"err":.*NOPERM.*"msg":"the near cache is bypassed/);
  const cookie = await signIn(demo.origin);
  for (let i = 0; i < 3; i++) expect(await get('/v2', cookie)).toBe('200');
  expect(await metric('countersign_near_cache_up')).toBe(0);
  expect(await metric('countersign_near_cache_reads_total', /miss/)).toBe(3);
  expect((await readyz())[0]).toBe(200);
  const facts = ['nothing', 'the near cache is bypassed', 'countersign_near_cache_up 0', '/readyz 200', 'entries: 0'];
  tableSays('Redis does not tell of changes', ...facts);
});

it('Redis is slow', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const { demo, get } = await start(`sessions: { store: "${redis.url}/0" }`);
  const cookie = await signIn(demo.origin);
  redis.pause();
  onTestFinished(() => redis.resume());
  expect(await get('/v2', cookie)).toBe('503 session-store-unavailable');
  tableSays('Redis is slow', '503 session-store-unavailable');
});

it('the upstream is down', async () => {
  const { demo, get, logs, readyz, metric } = await start(
    upstream(`endpoints: ["http://127.0.0.1:${await freePort()}"]`),
  );
  expect(await get('/v2', await signIn(demo.origin))).toBe('502 upstream-unreachable');
  expect(await readyz()).toMatchObject([503, { tenants: { demo: { upstream: 'down' } } }]);
  expect(await metric('countersign_upstream_attempts_total', /outcome="unreachable"/)).toBe(1);
  const cookie = await signIn(demo.origin);
  while ((await get('/v2', cookie)) !== '503 upstream-unavailable');
  await logs(/endpoint taken out of use/);
  expect(await metric('countersign_upstream_breaker')).toBe(2);
  expect(await readyz()).toMatchObject([503, { tenants: { demo: { breaker: 'open' } } }]);
  const facts = ['502 upstream-unreachable', 'upstream is down', 'attempts_total unreachable', 'breaker is open'];
  const later = ['503 upstream-unavailable', 'endpoint taken out of use', 'countersign_upstream_breaker 2'];
  tableSays('The upstream is down', ...facts, ...later);
});

it('one endpoint is down', async () => {
  const dead = await freePort();
  const live = await freePort();
  const endpoints = `endpoints: ["http://127.0.0.1:${dead}", "http://127.0.0.1:${live}"]`;
  const { demo, get, logs, readyz, metric } = await start(`${upstream(endpoints)}\nservice: { port: ${live} }`);
  expect(await get('/v2', await signIn(demo.origin))).toBe('200');
  expect(await metric('countersign_upstream_cooling', new RegExp(`:${dead}`))).toBe(1);
  await logs(/"path":"\/v2".*"status":200.*"attempts":2/);
  expect((await readyz())[0]).toBe(200);
  tableSays('One endpoint is down', 'nothing', 'countersign_upstream_cooling 1', 'attempts');
});

it('the upstream is slow', async () => {
  const silent = await tcp(() => undefined);
  const { demo, get, metric } = await start(upstream(`endpoints: ["${silent}"], timeouts: { headers: 1s }`));
  const cookie = await signIn(demo.origin);
  const answer = get('/v2', cookie);
  await expect.poll(() => metric('countersign_upstream_pending')).toBe(1);
  expect(await answer).toBe('504 upstream-timeout');
  tableSays('The upstream is slow', '504 upstream-timeout', 'timeouts.headers (60 s)', 'countersign_upstream_pending');
});

it('the upstream breaks off', async () => {
  const rude = await tcp((socket) => socket.once('data', () => socket.destroy()));
  const { demo, get, logs, metric } = await start(upstream(`endpoints: ["${rude}"]`));
  expect(await get('/v2', await signIn(demo.origin))).toBe('502 upstream-failed');
  expect(await metric('countersign_upstream_attempts_total', /outcome="failed"/)).toBeGreaterThan(0);
  await logs(/"code":"upstream-failed","reason":"/);
  const cookie = await signIn(demo.origin);
  while ((await get('/v2', cookie)) !== '503 upstream-unavailable');
  const facts = ['502 upstream-failed', 'attempts_total failed', 'reason', '503 upstream-unavailable'];
  tableSays('The upstream breaks off', ...facts);
});

it("the upstream's clock is off", async () => {
  const port = await freePort();
  const service = new CliProcess(['service', '--port', String(port), '--clock-offset=-1200']);
  onTestFinished(() => void service.kill());
  await service.until(/\S/);
  const endpoints = `endpoints: ["http://127.0.0.1:${port}"]`;
  const { demo, get, logs, readyz, metric } = await start(upstream(endpoints));
  const cookie = await signIn(demo.origin);
  for (let i = 0; i < 5; i++) expect(await get('/v2', cookie)).toBe('200');
  const message = 'the clocks of upstream and gateway are more than 5 min apart';
  await logs(new RegExp(message));
  expect(await metric('countersign_upstream_clock_alarm')).toBe(1);
  expect(await readyz()).toMatchObject([200, { tenants: { demo: { clock: 'alarm' } } }]);
  const skew = await metric('countersign_upstream_clock_skew_seconds');
  expect(Math.abs(skew + 1200)).toBeLessThan(30);
  const ours = await start(upstream(`${endpoints}, followClock: false`));
  expect(await ours.get('/v2', await signIn(ours.demo.origin))).toBe('400 invalid-auth-params');
  const facts = ['nothing', 'followClock: false', '400 or 401 from the Service', 'clock is alarm', 'clock_alarm 1'];
  tableSays("The upstream's clock is off", message, ...facts);
});

it('a keypair is refused', async () => {
  const wrong = 'visitor: { accessKey: AKIADEMOVISITOREXAMPL, secretKey: wrong }';
  const folder = mkdtempSync(join(tmpdir(), 'countersign-audit-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'audit.jsonl');
  const { demo, get, logs, metric } = await start(
    `tenants: { demo: { keypairs: { ${wrong} } } }\naudit: { file: ${file} }`,
  );
  expect(await get('/v2', await signIn(demo.origin))).toBe('401 unauthorized');
  await logs(/"level":"error".*"msg":"keypair refused"/);
  expect(await metric('countersign_keypairs_set_aside', /role="visitor"/)).toBe(1);
  await expect.poll(() => readFileSync(file, 'utf8')).toContain('"event":"keypair-refused"');
  const facts = ['401 from the Service', 'keypair refused', 'keypair-refused', 'countersign_keypairs_set_aside'];
  tableSays('A keypair is refused', ...facts);
});

it('no keypair is valid', async () => {
  const past = 'visitor: [{ accessKey: A, secretKey: s, notAfter: 2020-01-01T00:00:00Z }]';
  const { demo, get } = await start(`tenants: { demo: { keypairs: { ${past} } } }`);
  expect(await get('/v2', await signIn(demo.origin))).toBe('503 keypair-unavailable');
  tableSays('No keypair is valid', '503 keypair-unavailable');
});

it('the quota is used up', async () => {
  const { demo, get, logs, metric } = await start('service: { rateLimit: { requests: 1, per: 1m } }');
  const cookie = await signIn(demo.origin);
  expect(await get('/v2', cookie)).toBe('200');
  expect(await get('/v2', cookie)).toMatch(/^429 /);
  expect(await metric('countersign_keypair_quota_remaining', /role="visitor"/)).toBe(0);
  await logs(/"status":429,"endpoint"/);
  tableSays('The quota is used up', '429 from the Service', 'countersign_keypair_quota_remaining 0', 'no code');
});

it("the gateway's own limit", async () => {
  const { demo, get, metric } = await start('limits: { session: { requests: 1, per: 1m } }');
  const cookie = await signIn(demo.origin);
  await get('/v2', cookie);
  const response = await fetch(`${demo.origin}/v2`, { headers: { Cookie: cookie } });
  expect(response.headers.get('RateLimit-Policy')).toMatch(/^"session"/);
  expect(await get('/v2', cookie)).toBe('429 rate-limit-exceeded');
  expect(await metric('countersign_refusals_total', /code="rate-limit-exceeded"/)).toBe(2);
  tableSays("The gateway's own limit", '429 rate-limit-exceeded', 'RateLimit-Policy', 'countersign_refusals_total');
});

it('request bodies have no room', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-bodies-'));
  const { demo, logs, metric } = await start(`bodies: { disk: 1MiB, folder: ${folder} }`);
  const cookie = await signIn(demo.origin);
  const post = async (length: number) => {
    const headers = { Cookie: cookie, 'X-Countersign': '1', 'Content-Type': 'application/json' };
    const response = await fetch(`${demo.origin}/v2`, { method: 'POST', headers, body: `"${'x'.repeat(length)}"` });
    const { type } = (await response.json()) as { type: string };
    return `${response.status} ${type.split('/').at(-1)}`;
  };
  expect(await post(2_000_000)).toBe('507 insufficient-storage');
  expect(await post(200_000)).toMatch(/^405 /);
  expect(await metric('countersign_refusals_total', /code="insufficient-storage"/)).toBe(1);
  expect(await metric('countersign_bodies_limit_bytes', /place="disk"/)).toBe(1024 * 1024);
  expect(await metric('countersign_bodies_bytes')).toBe(0);
  rmSync(folder, { recursive: true });
  expect(await post(500_000)).toBe('507 insufficient-storage');
  const message = 'a request body could not be stored';
  await logs(new RegExp(message));
  const facts = ['507 insufficient-storage', 'beyond 256 KiB', 'countersign_bodies_limit_bytes', message];
  tableSays('Request bodies have no room', ...facts);
});

it('bad configuration at reload, and at a start', async () => {
  const { demo, get, logs, readyz, metric } = await start();
  const cookie = await signIn(demo.origin);
  appendFileSync(demo.file, 'colour: blue\n');
  const message = 'configuration not reloaded: the one before stays in force';
  await logs(new RegExp(message));
  expect(demo.process.stdout).toContain('colour: unknown key');
  expect(await get('/v2', cookie)).toBe('200');
  expect(await readyz()).toMatchObject([200, { checks: { configuration: 'failed' } }]);
  expect(await metric('countersign_config_last_reload_successful')).toBe(0);
  expect(await new CliProcess(['serve', demo.file]).exited()).toBe(2);
  const facts = ['countersign_config_last_reload_successful 0', 'exit code 2', '/readyz 200, configuration failed'];
  tableSays('Bad configuration at reload', message, ...facts);
});

it('a port is in use', async () => {
  const { demo } = await start();
  const second = new CliProcess(['serve', demo.file]);
  expect(await second.exited()).toBe(1);
  expect(second.stderr).toContain('cannot listen: port');
  tableSays('A port is in use', 'cannot listen: port', 'exit code 1');
});

it('a renewed certificate is no good', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-tls-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const kit = (name: string) => join(ROOT, 'test/kit/tls', name);
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  copyFileSync(kit('loopback.pem'), cert);
  copyFileSync(kit('loopback.key'), key);
  const tls = `{ certificates: [{ cert: "${cert}", key: { file: "${key}" } }] }`;
  const { demo, logs, metric } = await start(`listen: { tls: ${tls} }`);
  const shown = async () => {
    const socket = connectTls({ port: demo.port, host: '127.0.0.1', rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { fingerprint256 } = socket.getPeerCertificate();
    socket.destroy();
    return fingerprint256;
  };
  const before = await shown();
  copyFileSync(kit('elsewhere.pem'), cert);
  const [fault, refused] = [
    'cert and key are no PEM files that belong together',
    'configuration not reloaded: the one before stays in force',
  ];
  await logs(new RegExp(refused));
  await logs(new RegExp(fault));
  expect(await shown()).toBe(before);
  expect(await metric('countersign_config_last_reload_successful')).toBe(0);
  copyFileSync(kit('elsewhere.key'), key);
  await logs(/"msg":"configuration reloaded"/);
  expect(await shown()).not.toBe(before);
  const metrics = 'countersign_config_last_reload_successful 0';
  tableSays('A renewed certificate is no good', 'nothing', fault, refused, metrics);
});

it("the audit log's disk is full", async () => {
  const { demo, get, logs } = await start('audit: { file: /dev/full }');
  expect(await get('/v2', await signIn(demo.origin))).toBe('200');
  const message = 'the audit log cannot be written; its lines are held and tried again';
  await logs(new RegExp(message));
  tableSays("The audit log's disk is full", 'nothing', message);
});

it("the upstream's certificate has expired", async () => {
  const pem = (name: string) => join(ROOT, 'test/kit/tls', name);
  const server = createTlsServer({ cert: readFileSync(pem('expired.pem')), key: readFileSync(pem('expired.key')) });
  server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const env = { NODE_EXTRA_CA_CERTS: pem('expired.pem') };
  const { demo, get, logs, readyz, metric } = await start(upstream(`endpoints: ["https://127.0.0.1:${port}"]`), env);
  expect(await get('/v2', await signIn(demo.origin))).toBe('502 upstream-unreachable');
  await logs(/"reason":"CERT_HAS_EXPIRED"/);
  expect(await metric('countersign_upstream_attempts_total', /outcome="unreachable"/)).toBe(1);
  expect((await readyz())[0]).toBe(200);
  const doctor = new CliProcess(['doctor', demo.file], env);
  expect(await doctor.exited()).toBe(1);
  expect(doctor.stdout).toContain('expired');
  const facts = ['502 upstream-unreachable', 'CERT_HAS_EXPIRED', '/readyz does not see it', 'doctor'];
  tableSays("The upstream's certificate has expired", ...facts);
});

it('an attack on the login', async () => {
  const { demo, metric } = await start();
  const guess = async (username: string) => {
    const response = await fetch(`${demo.origin}/-/session`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Countersign': '1' },
      body: JSON.stringify({ method: 'password', username, password: 'a guess' }),
    });
    await response.body?.cancel();
    return response.status;
  };
  for (let count = 0; count < 5; count++) expect(await guess('admin')).toBe(401);
  expect(await guess('admin')).toBe(429);
  expect(await metric('countersign_refusals_total', /code="invalid-credentials"/)).toBe(5);
  expect(await metric('countersign_refusals_total', /code="too-many-attempts"/)).toBe(1);
  tableSays('An attack on the login', '429 too-many-attempts', 'invalid-credentials and too-many-attempts');
});

it('a worker crashes', async () => {
  const { demo, logs, metric } = await start('workers: 2');
  await expect.poll(() => metric('countersign_workers')).toBe(2);
  const pid = /"pid":(\d+),"msg":"a worker accepts connections"/.exec(demo.process.stdout)?.[1];
  process.kill(Number(pid), 'SIGKILL');
  await logs(/"level":"error".*"msg":"a worker ended by SIGKILL/);
  await logs(/(?:.*\n)*.*a worker ended.*\n(?:.*\n)*.*"msg":"a worker accepts connections"/);
  await expect.poll(() => metric('countersign_workers')).toBe(2);
  tableSays('A worker crashes', 'a worker ended', 'a worker accepts connections', 'countersign_workers', 'by SIGKILL');
});

it('no worker can be started', async () => {
  const program = join(mkdtempSync(join(tmpdir(), 'countersign-no-worker-')), 'refuse.mjs');
  onTestFinished(() => rmSync(dirname(program), { recursive: true }));
  appendFileSync(program, 'if (process.argv[2] === "worker") process.exit(9);\n');
  const refused = await start('workers: 2', { NODE_OPTIONS: `--import ${program}` }).catch((error: Error) => error);
  expect((refused as Error).message).toMatch(/serve: worker \d could not start: it ended with exit code 9\n$/);
  tableSays('No worker can be started', 'could not start', 'exit code 1');
});

it('SIGTERM', async () => {
  let answer: (() => void) | undefined;
  const slow = await tcp((socket) =>
    socket.once('data', () => {
      answer = () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}');
    }),
  );
  const { demo, get, logs, readyz, metric } = await start(upstream(`endpoints: ["${slow}"]`));
  const inFlight = get('/v2', await signIn(demo.origin));
  await expect.poll(() => answer !== undefined).toBe(true);
  demo.process.child.kill('SIGTERM');
  await logs(/"msg":"draining"/);
  expect(await readyz()).toMatchObject([503, { checks: { process: 'draining' } }]);
  expect(await metric('countersign_draining')).toBe(1);
  await expect(fetch(`${demo.origin}/-/livez`)).rejects.toThrow();
  answer?.();
  expect(await inFlight).toBe('200');
  expect(await demo.process.exited()).toBe(0);
  expect(demo.process.stdout).toMatch(/"msg":"stopped"/);
  tableSays('SIGTERM', 'draining', 'stopped', '/readyz 503, process draining', 'countersign_draining 1', 'exit code 0');
});

it('a defect of Countersign', async () => {
  const NODE_OPTIONS = `--import ${pathToFileURL(join(ROOT, 'test/kit/broken-signing.ts'))}`;
  const { demo, get, logs, readyz, metric } = await start('{}', { NODE_OPTIONS });
  const cookie = await signIn(demo.origin);
  const response = await fetch(`${demo.origin}/v2`, { headers: { Cookie: cookie } });
  const requestId = response.headers.get('x-request-id');
  expect(response.status).toBe(500);
  expect(await response.json()).toEqual({
    type: 'https://problems.demo.example/internal',
    title: 'Internal error',
    status: 500,
    detail: 'The gateway failed.',
    instance: requestId,
  });
  await logs(/"msg":"a request failed by a defect"/);
  const line = /^\{.*a request failed by a defect.*\}$/m.exec(demo.process.stdout)?.[0] ?? '{}';
  expect(JSON.parse(line)).toMatchObject({
    level: 'error',
    requestId,
    err: { type: 'TypeError', stack: expect.stringMatching(/broken-signing\.ts:\d+.*\n.* at sign /) },
  });
  for (const secret of ['secret-not-for-production-use', cookie.split('=')[1] ?? 'none']) {
    expect(demo.process.stdout + demo.process.stderr).not.toContain(secret);
  }
  expect(await metric('countersign_refusals_total', /code="internal"/)).toBe(1);
  expect(await get('/v2', cookie)).toBe('200');
  expect((await readyz())[0]).toBe(200);

  const [vector] = JSON.parse(readFileSync(join(ROOT, 'test/vectors/signing.json'), 'utf8'));
  const verify = async (env: Readonly<Record<string, string>>) => {
    const process = new CliProcess(['verify'], { NODE_OPTIONS, ...env });
    process.child.stdin?.end(JSON.stringify({ ...vector, authorization: vector.expected.authorization }));
    return [await process.exited(), process.stdout, process.stderr] as const;
  };
  const defect = 'countersign verify: this is a defect of Countersign: TypeError: no key for';
  expect(await verify({})).toEqual([70, '', expect.stringMatching(new RegExp(`^${defect}.*\\n$`))]);
  expect((await verify({ COUNTERSIGN_DEBUG: '1' }))[2]).toMatch(/\n {4}at .*broken-signing\.ts:\d+/);
  tableSays(
    'A defect of Countersign',
    '500 internal',
    'a request failed by a defect',
    'exit code 70',
    'COUNTERSIGN_DEBUG=1',
  );
});

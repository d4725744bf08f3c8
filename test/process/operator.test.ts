import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { auditLineSchema } from '../../src/observe/audit-event.ts';
import { type Demo, signIn, startDemo } from '../kit/demo.ts';

const TOKEN = 'an-operator-token-of-some-length';

let demo: Demo | undefined;
afterEach(async () => {
  await demo?.stop();
  demo = undefined;
});

const withOperator = (more: string) => (yaml: string) => `${yaml}\noperator: { port: 0${more} }\n`;

function operatorOrigin(): string {
  const origin = /countersign for operators: (\S+)/.exec(demo?.process.stderr ?? '')?.[1];
  if (origin === undefined) throw new Error('the operators’ listener was not announced');
  return origin;
}

it('serve opens the operators’ listener, which sees what the gateway does', async () => {
  demo = await startDemo(withOperator(', token: { env: OPERATOR_TOKEN }'), { OPERATOR_TOKEN: TOKEN });
  const operator = operatorOrigin();
  const headers = { Authorization: `Bearer ${TOKEN}` };
  expect((await fetch(`${operator}/readyz`)).status).toBe(200);
  expect((await fetch(`${operator}/api/status`)).status).toBe(401);

  const cookie = await signIn(demo.origin);
  await (await fetch(`${demo.origin}/v2`, { headers: { Cookie: cookie } })).text();
  const read = async () => (await (await fetch(`${operator}/api/status`, { headers })).json()) as object;
  await expect.poll(read).toMatchObject({
    ready: true,
    traffic: { total: { requests: 2, clientErrors: 0, serverErrors: 0 } },
    keypairs: [
      { role: 'visitor', limit: 1000, remaining: 999 },
      { role: 'admin', limit: null },
    ],
    sessions: { store: 'memory', created: 1 },
  });

  await fetch(`${operator}/api/sessions?tenant=demo`, { method: 'DELETE', headers });
  expect((await fetch(`${demo.origin}/v2`, { headers: { Cookie: cookie } })).status).toBe(401);
  await demo.process.until(/"action":"end-sessions".*"msg":"operator"/);
  expect(demo.process.stdout).not.toContain(TOKEN);
});

it('a reload on request says what came of it, and what operators do is in the audit log', async () => {
  demo = await startDemo((yaml) => `${withOperator('')(yaml)}audit: { file: audit.jsonl }\n`);
  const { file, origin } = demo;
  const operator = operatorOrigin();
  const send = (method: string, path: string) =>
    fetch(`${operator}${path}`, { method, headers: { 'X-Countersign': '1' } });
  const sound = readFileSync(file, 'utf8');

  writeFileSync(file, sound.replace('site:', 'sight:'));
  const refused = await send('POST', '/api/reload');
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({
    ok: false,
    reason: 'operator',
    faults: [{ path: 'tenants.demo.sight', message: expect.stringContaining('unknown key') }],
  });
  const ready = await fetch(`${operator}/readyz`);
  expect([ready.status, await ready.json()]).toMatchObject([200, { checks: { configuration: 'failed' } }]);
  expect(await (await fetch(`${operator}/metrics`)).text()).toMatch(/^countersign_config_last_reload_successful 0$/m);

  writeFileSync(file, sound);
  expect((await send('POST', '/api/reload')).status).toBe(200);
  expect(await (await fetch(`${operator}/readyz`)).json()).toMatchObject({ checks: { configuration: 'ok' } });

  await signIn(origin);
  const listed = (await (await fetch(`${operator}/api/sessions?tenant=demo`)).json()) as { sessions: { id: string }[] };
  const { id = '' } = listed.sessions[0] ?? {};
  expect((await send('DELETE', `/api/sessions/${id}`)).status).toBe(204);
  expect(await demo.process.kill('SIGTERM')).toBe(0);

  const audit = readFileSync(join(dirname(file), 'audit.jsonl'), 'utf8');
  const lines = audit
    .trimEnd()
    .split('\n')
    .map((line) => auditLineSchema.parse(JSON.parse(line)));
  const actions = lines.filter(({ event }) => event === 'operator-action');
  expect(actions).toMatchObject([
    { client: '127.0.0.1', detail: { action: 'reload', outcome: 'failed' } },
    { client: '127.0.0.1', detail: { action: 'reload', outcome: 'done' } },
    { tenant: 'demo', detail: { action: 'end-session', outcome: 'done' } },
  ]);
  expect(lines.filter(({ event }) => event === 'revocation')).toMatchObject([
    { tenant: 'demo', detail: { by: 'operator', scope: 'one', count: 1 } },
  ]);
  expect(audit).not.toContain(id);
});

it('without an operator block there is no such listener', async () => {
  demo = await startDemo();
  expect(demo.process.stderr).not.toContain('operators');
});

it('readiness says so while requests drain, and the listener closes last', async () => {
  const slow = createServer();
  const asked = once(slow, 'connection');
  slow.listen(0, '127.0.0.1');
  await once(slow, 'listening');
  const { port } = slow.address() as { port: number };
  demo = await startDemo((yaml) =>
    withOperator('')(yaml.replace(/endpoints: \[.*\]/, `endpoints: [http://127.0.0.1:${port}]`)),
  );
  const operator = operatorOrigin();
  const cookie = await signIn(demo.origin);
  const answer = fetch(`${demo.origin}/v2/slow`, { headers: { Cookie: cookie } });
  const [upstream] = await asked;
  demo.process.child.kill('SIGTERM');
  await demo.process.until(/"msg":"draining"/);
  const ready = await fetch(`${operator}/readyz`);
  expect([ready.status, await ready.json()]).toMatchObject([503, { checks: { process: 'draining' } }]);
  upstream.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone');
  expect(await (await answer).text()).toBe('done');
  expect(await demo.process.exited()).toBe(0);
  slow.close();
});

it('refuses to start on another address without a token, with exit 2', async () => {
  const started = await startDemo((yaml) => `${yaml}\noperator: { host: 0.0.0.0, port: 0 }\n`).catch(
    (error: Error) => error,
  );
  expect(started).toBeInstanceOf(Error);
  expect((started as Error).message).toMatch(/operator\.host: the operators’ listener on 0\.0\.0\.0 has no token/);
});

it('a port in use is one clear line', async () => {
  demo = await startDemo(withOperator(''));
  const { port } = new URL(operatorOrigin());
  const second = await startDemo((yaml) => `${yaml}\noperator: { port: ${port} }\n`).catch((error: Error) => error);
  expect((second as Error).message).toMatch(
    new RegExp(
      `countersign serve: the operators’ listener cannot listen: port ${port} on 127\\.0\\.0\\.1 is in use\\n$`,
    ),
  );
});

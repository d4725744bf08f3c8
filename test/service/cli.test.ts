import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CliError, EXIT } from '../../src/cli/command.ts';
import { serviceCommand } from '../../src/cli/service.ts';
import { Secret } from '../../src/secret.ts';
import { DEMO_KEYPAIRS } from '../../src/service/demo-keypairs.ts';
import type { RunningService } from '../../src/service/server.ts';
import { DIALECTS } from '../../src/signing/dialect.ts';
import { Keypair } from '../../src/tenant.ts';
import { call, start } from './client.ts';

const MODULE = new URL('../../src/cli/service.ts', import.meta.url).href;

/** The command in a process of its own, once it listens. */
async function launch(args: readonly string[], env: Record<string, string> = {}) {
  const program = `const { serviceCommand } = await import(${JSON.stringify(MODULE)});
    process.exitCode = await serviceCommand.run(${JSON.stringify(['--port=0', ...args])}, process);`;
  const child: ChildProcess = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stderr = '';
  child.stderr?.on('data', (chunk) => {
    stderr += String(chunk);
  });
  const [line] = await once(child.stdout as PassThrough, 'data');
  const port = Number(/ (http:\/\/127\.0\.0\.1:(\d+))\n$/.exec(String(line))?.[2]);
  const service: RunningService = { origin: `http://127.0.0.1:${port}`, port, close: async () => undefined };
  return { child, service, warning: () => stderr };
}

function terminal(env: Record<string, string> = {}) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  return { stdin, stdout, stderr, env };
}

const failure = (args: string[], env: Record<string, string> = {}) =>
  serviceCommand.run(args, terminal(env)).then(
    () => undefined,
    (error: unknown) => error,
  );

describe('countersign service', () => {
  it('serves the demo keypairs, says that they are public, and exits 0 on SIGTERM', async () => {
    const { child, service, warning } = await launch([]);
    const [admin] = DEMO_KEYPAIRS;
    const as = new Keypair(admin.accessKey, admin.secretKey);
    expect((await call(service, 'GET', '/v2', { as })).status).toBe(200);
    child.kill('SIGTERM');
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(warning()).toContain('public');
    expect(warning()).toContain(admin.accessKey);
  });

  it('takes a keypair whose secret is in the environment, and prints neither warning nor secret', async () => {
    const args = [
      '--access-key=AKIAOWN',
      '--secret-key-env=OWN',
      '--brand=backend.ai',
      '--rate-limit=5',
      '--window=10',
    ];
    const { child, service, warning } = await launch([...args, '--clock-offset=-3600'], { OWN: 'my-secret' });
    const options = {
      as: new Keypair('AKIAOWN', new Secret('my-secret')),
      at: Date.now() - 3_600_000,
      dialect: DIALECTS['backend.ai'],
    };
    const reply = await call(service, 'GET', '/v2', options);
    expect([reply.status, reply.headers['x-ratelimit-limit'], reply.headers['x-ratelimit-reset']]).toEqual([
      200,
      '5',
      '10',
    ]);
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(warning()).toBe('');
  });

  it('says in one line that the port is in use', async () => {
    const service = await start();
    onTestFinished(() => service.close());
    const at = terminal();
    const error = await serviceCommand.run([`--port=${service.port}`], at).catch((thrown: unknown) => thrown);
    expect(at.stderr.read()).toBeNull();
    expect(error).toBeInstanceOf(CliError);
    expect(error).toMatchObject({
      exitCode: EXIT.failed,
      message: `the Service cannot listen: port ${service.port} on 127.0.0.1 is in use`,
    });
  });

  it.each(['0.0.0.0', '::', '192.0.2.1', 'service.example', '127.0.0.1.evil.example'])(
    'does not offer the demo keypairs on %s',
    async (host) => {
      expect(await failure([`--host=${host}`])).toMatchObject({
        exitCode: EXIT.usage,
        message: /demo keypairs are public/,
      });
    },
  );

  it.each([
    ['an unknown option', ['--colour']],
    ['a port that is none', ['--port=65536']],
    ['a port in words', ['--port=http']],
    ['no quota', ['--rate-limit=0']],
    ['no window', ['--window=0']],
    ['an unknown brand', ['--brand=toString']],
    ['an offset in words', ['--clock-offset=yesterday']],
    ['an access key alone', ['--access-key=A']],
    ['an empty secret', ['--access-key=A', '--secret-key-env=EMPTY']],
    ['an access key with a colon', ['--access-key=A:B', '--secret-key-env=OWN']],
    ['an argument', ['start']],
  ])('refuses %s as a mistake of the caller', async (_what, args) => {
    const error = await failure(args, { EMPTY: '', OWN: 'my-secret' });
    expect(error).toBeInstanceOf(CliError);
    expect(error).toMatchObject({ exitCode: EXIT.usage });
    expect(String(error)).not.toContain('my-secret');
  });

  it('explains itself', async () => {
    const at = terminal();
    expect(await serviceCommand.run(['--help'], at)).toBe(EXIT.ok);
    expect(String(at.stdout.read())).toBe(serviceCommand.help);
  });
});

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** config/demo.yaml as `npm start` runs it, but on free ports. */
export interface DemoConfig {
  readonly file: string;
  readonly port: number;
  /** The secret keys written in it: none of them may ever be seen outside the gateway. */
  readonly secrets: readonly string[];
}

/** Writes the demo's configuration to `folder`. */
export async function writeDemoConfig(folder: string): Promise<DemoConfig> {
  const [port, servicePort] = await freePorts();
  const text = replaced(readFileSync(join(ROOT, 'config/demo.yaml'), 'utf8'), [
    ['8080', String(port)],
    ['8081', String(servicePort)],
    ['site: demo-site', `site: ${join(ROOT, 'config/demo-site')}`],
  ]);
  const file = join(folder, 'demo.yaml');
  writeFileSync(file, text);
  return {
    file,
    port,
    secrets: [...new Set(text.matchAll(/secretKey: ([^\s,}]+)/g).map(([, secret]) => secret ?? ''))],
  };
}

export interface RunningGateway {
  /** Sends SIGTERM, and resolves to the exit code. */
  stop(): Promise<number | null>;
}

/** Runs a command that serves, and waits for the line that says it is ready. */
export async function startGateway(command: string, args: string[], options: SpawnOptions): Promise<RunningGateway> {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  await ready(child);
  return {
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      const [code] = (await exited) as [number | null];
      return code;
    },
  };
}

async function ready(child: ChildProcess): Promise<void> {
  if (child.stderr === null) throw new Error('the stderr of the gateway is not piped');
  const said: string[] = [];
  for await (const line of createInterface({ input: child.stderr })) {
    if (line.startsWith('countersign is ready')) {
      child.stderr.resume();
      return;
    }
    said.push(line);
  }
  throw new Error(`the gateway did not start:\n${said.join('\n')}`);
}

function replaced(text: string, pairs: readonly (readonly [string, string])[]): string {
  let result = text;
  for (const [from, to] of pairs) {
    if (!result.includes(from)) throw new Error(`config/demo.yaml has no "${from}" to replace`);
    result = result.replaceAll(from, to);
  }
  return result;
}

/** Both are held before either is let go, so that they differ. */
async function freePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()];
  const ports = await Promise.all(
    servers.map(async (server) => {
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('no port');
      return address.port;
    }),
  );
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports as [number, number];
}

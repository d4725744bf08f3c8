import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CliProcess, ROOT } from './cli.ts';
import { freePort } from './free-port.ts';

export interface Demo {
  readonly origin: string;
  readonly port: number;
  readonly servicePort: number;
  /** Its configuration. */
  readonly file: string;
  readonly process: CliProcess;
  stop(): Promise<void>;
}

/** `config/demo.yaml` on free ports, as a process of its own; `edit` may change the text further. */
export async function startDemo(
  edit: (yaml: string) => string = (yaml) => yaml,
  env: Readonly<Record<string, string>> = {},
): Promise<Demo> {
  const [port, servicePort] = await Promise.all([freePort(), freePort()]);
  const folder = mkdtempSync(join(tmpdir(), 'countersign-demo-'));
  const yaml = readFileSync(join(ROOT, 'config/demo.yaml'), 'utf8')
    .replaceAll('8080', String(port))
    .replaceAll('8081', String(servicePort))
    .replace('site: demo-site', `site: ${join(ROOT, 'config/demo-site')}`);
  const file = join(folder, 'demo.yaml');
  writeFileSync(file, edit(yaml));
  const process = new CliProcess(['serve', file], env);
  const stop = async () => {
    await process.kill();
    rmSync(folder, { recursive: true });
  };
  try {
    await process.until(/countersign is ready/);
  } catch (error) {
    await stop();
    throw error;
  }
  return { origin: `http://127.0.0.1:${port}`, port, servicePort, file, process, stop };
}

/** Signs in as the anonymous visitor; gives the Cookie header. */
export async function signIn(origin: string, body: object = { method: 'visitor' }): Promise<string> {
  const response = await fetch(`${origin}/-/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Countersign': '1' },
    body: JSON.stringify(body),
  });
  if (response.status !== 201) throw new Error(`sign-in answered ${response.status}: ${await response.text()}`);
  return response.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';
}

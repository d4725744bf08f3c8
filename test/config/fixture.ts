import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ConfigError, type Fault } from '../../src/config/fault.ts';
import { type LoadedConfig, loadConfig } from '../../src/config/load.ts';
import { ROOT } from '../kit/cli.ts';

/** Writes files into a folder of the test's own and gives the folder. */
export function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

export function load(text: string, env: Record<string, string> = {}, files: Record<string, string> = {}): LoadedConfig {
  return loadConfig(join(folderOf({ ...files, 'countersign.yaml': text }), 'countersign.yaml'), env);
}

/** `config/example.yaml`, which has every key there is, with the files and variables it names. */
export function loadExample(): LoadedConfig {
  const pem = (name: string) => readFileSync(join(ROOT, 'test/kit/tls', name), 'utf8');
  const folder = folderOf({
    'acme-admin': 'secret',
    'acme-admin-next': 'secret',
    'operator.pem': pem('loopback.pem'),
    'operator.key': pem('loopback.key'),
    'operators-ca.pem': pem('elsewhere.pem'),
    'tls.crt': pem('loopback.pem'),
    'tls.key': pem('loopback.key'),
    'cdn-ca.pem': pem('elsewhere.pem'),
    'service-ca.pem': pem('elsewhere.pem'),
    'gateway.crt': pem('elsewhere.pem'),
    'gateway.key': pem('elsewhere.key'),
  });
  const env = {
    ACME_VISITOR_SECRET: 'secret',
    OPERATOR_TOKEN: 'token',
    SESSION_SEAL_KEY: Buffer.alloc(32).toString('base64'),
  };
  const text = readFileSync(join(ROOT, 'config/example.yaml'), 'utf8')
    .replaceAll('/run/secrets', folder)
    .replace('site: demo-site', 'site: .');
  return load(text, env);
}

/** The faults of a configuration that must have some. */
export function faultsOf(text: string, env: Record<string, string> = {}, files: Record<string, string> = {}): Fault[] {
  try {
    load(text, env, files);
  } catch (error) {
    if (error instanceof ConfigError) return [...error.faults];
    throw error;
  }
  throw new Error('the configuration was accepted');
}

export const MINIMAL = `
tenants:
  acme:
    origins: [https://console.acme.example]
    upstream:
      endpoints: [https://api.service.example]
      version: v4.20190315
    keypairs:
      visitor: { accessKey: AKIAVISITOR, secretKey: { env: VISITOR_SECRET } }
    login:
      visitor: { role: visitor }
    routes:
      - { path: /v2, roles: [visitor] }
`;

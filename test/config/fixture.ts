import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ConfigError, type Fault } from '../../src/config/fault.ts';
import { type LoadedConfig, loadConfig } from '../../src/config/load.ts';

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

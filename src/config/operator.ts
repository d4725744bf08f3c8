import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { isLoopback } from '../process/loopback.ts';
import type { OperatorSettings } from '../snapshot.ts';
import type { YamlDocument } from './document.ts';
import type { Fault } from './fault.ts';
import type { Config } from './schema.ts';
import type { SecretReader } from './secrets.ts';

type OperatorConfig = NonNullable<Config['operator']>;

export interface OperatorContext {
  readonly secrets: SecretReader;
  readonly document: YamlDocument;
  /** Folder that relative paths are relative to. */
  readonly folder: string;
  readonly faults: Fault[];
}

/** Resolves the operators' listener. Whoever reaches it rules the gateway, so it is loopback or it is locked. */
export function buildOperator(config: OperatorConfig, context: OperatorContext): OperatorSettings {
  const { secrets, document, faults } = context;
  if (!isLoopback(config.host) && config.token === undefined && config.tls?.clientCa === undefined) {
    const message = `the operators’ listener on ${config.host} has no token: anyone who reaches it could use it`;
    const hint = 'add token: { env: NAME } or tls with a clientCa, or listen on 127.0.0.1';
    faults.push(document.fault(['operator', 'host'], message, { hint }));
  }
  const token = config.token === undefined ? undefined : secrets.read(config.token, ['operator', 'token']);
  const tls = config.tls && buildTls(config.tls, context);
  return { host: config.host, port: config.port, token, tls };
}

function buildTls(config: NonNullable<OperatorConfig['tls']>, context: OperatorContext): OperatorSettings['tls'] {
  const { secrets, document, folder, faults } = context;
  const before = faults.length;
  const read = (path: string, key: string): string => {
    try {
      return readFileSync(resolve(folder, path), 'utf8');
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
      faults.push(document.fault(['operator', 'tls', key], `file ${resolve(folder, path)} cannot be read (${code})`));
      return '';
    }
  };
  const cert = read(config.cert, 'cert');
  const clientCa = config.clientCa === undefined ? undefined : read(config.clientCa, 'clientCa');
  const key = secrets.read(config.key, ['operator', 'tls', 'key']);
  if (key === undefined || faults.length > before) return undefined;
  try {
    createSecureContext({ cert, key: key.reveal(), ...(clientCa !== undefined && { ca: clientCa }) });
  } catch {
    faults.push(document.fault(['operator', 'tls'], 'cert, key and clientCa are no PEM files that belong together'));
  }
  return { cert, key, clientCa };
}

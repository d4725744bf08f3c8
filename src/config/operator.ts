import { isLoopback } from '../process/loopback.ts';
import type { OperatorSettings } from '../snapshot.ts';
import type { CertificateReader } from './certificates.ts';
import type { YamlDocument } from './document.ts';
import type { Fault } from './fault.ts';
import type { Config } from './schema.ts';
import type { SecretReader } from './secrets.ts';

type OperatorConfig = NonNullable<Config['operator']>;

export interface OperatorContext {
  readonly secrets: SecretReader;
  readonly certificates: CertificateReader;
  readonly document: YamlDocument;
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

function buildTls(
  config: NonNullable<OperatorConfig['tls']>,
  { certificates }: OperatorContext,
): OperatorSettings['tls'] {
  const at = ['operator', 'tls'];
  const identity = certificates.identity(config, at);
  const clientCa =
    config.clientCa === undefined ? undefined : certificates.authorities(config.clientCa, [...at, 'clientCa']);
  return identity && { ...identity, clientCa };
}

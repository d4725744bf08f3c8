import type { Server } from 'node:net';
import type { ServiceSettings } from '../config/load.ts';
import type { Audit } from '../observe/audit.ts';
import type { Log } from '../observe/log.ts';
import { openAudit } from '../observe/open-audit.ts';
import { listen } from '../process/lifecycle.ts';
import { type RunningService, startService } from '../service/server.ts';
import { DIALECTS } from '../signing/dialect.ts';
import type { Snapshot } from '../snapshot.ts';
import { CliError, EXIT, type Terminal } from './command.ts';
import type { OperatorListener } from './operator-listener.ts';

/** What `serve` opens at its start. What cannot be opened ends it with a CliError of one line. */

export function startReferenceService(settings: ServiceSettings): Promise<RunningService> {
  const { host, port, version, keypairs, rateLimit } = settings;
  const options = { host, port, version, keypairs, rateLimit, dialect: DIALECTS[settings.dialect] };
  return explainListen(startService(options), host, port, 'the reference Service');
}

export function listenOrExplain(server: Server, port: number, host: string): Promise<number> {
  return explainListen(listen(server, port, host), host, port, 'the gateway');
}

export async function listenForOperators({ server, settings }: OperatorListener, terminal: Terminal): Promise<void> {
  const { host, port, tls } = settings;
  const actual = await explainListen(listen(server, port, host), host, port, 'the operators’ listener');
  const authority = `${host.includes(':') ? `[${host}]` : host}:${actual}`;
  terminal.stderr.write(`countersign for operators: ${tls === undefined ? 'http' : 'https'}://${authority}\n`);
}

export async function explainListen<T>(listening: Promise<T>, host: string, port: number, what: string): Promise<T> {
  try {
    return await listening;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      throw new CliError(`${what} cannot listen: port ${port} on ${host} is in use`, EXIT.failed);
    if (code === 'EACCES')
      throw new CliError(`${what} cannot listen: no permission for port ${port} on ${host}`, EXIT.failed);
    if (code === 'ENOTSUP')
      throw new CliError(`${what} cannot share its port between workers here: set workers to 1`, EXIT.failed);
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
      throw new CliError(`${what} cannot listen: ${host} is no address of this machine`, EXIT.failed);
    }
    throw error;
  }
}

export function openAuditOrExplain({ audit }: Snapshot, log: Log): Audit {
  try {
    return openAudit(audit, { log, clock: Date.now });
  } catch (error) {
    throw new CliError(`the audit log ${audit?.file} cannot be opened: ${(error as Error).message}`);
  }
}

export function originsOf(tenants: readonly { readonly origins: ReadonlySet<string> }[]): string {
  return tenants.flatMap(({ origins }) => [...origins]).join(', ');
}

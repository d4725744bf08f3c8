import { hash } from 'node:crypto';
import type { OperatorSettings, Snapshot } from '../snapshot.ts';
import type { YamlDocument } from './document.ts';
import type { Fault, PathSegment } from './fault.ts';
import type { ServiceSettings } from './load.ts';
import type { Config } from './schema.ts';

/** A setting that is used once, at the start. */
export interface FixedSetting {
  readonly path: string;
  /** Tells two values apart without keeping them: some are secret. */
  readonly digest: string;
  /** What to tell an operator who changed it in a running gateway. */
  readonly warning: Fault;
}

interface Resolved {
  readonly config: Config;
  readonly sessions: Snapshot['sessions'];
  readonly service: ServiceSettings | undefined;
  readonly operator: OperatorSettings | undefined;
}

/** Listeners, stores and what they are opened with. Everything else takes effect with a reload. */
export function fixedSettings(
  { config, sessions, service, operator }: Resolved,
  document: YamlDocument,
): FixedSetting[] {
  const { trustProxies: _trustProxies, maxHeaders: _maxHeaders, tls, ...listen } = config.listen;
  const settings: [PathSegment[], unknown][] = [
    ...Object.entries(listen).map(([key, value]): [PathSegment[], unknown] => [['listen', key], value]),
    [['listen', 'tls'], kindOfTls(tls)],
    [['operator'], operator && { ...operator, token: operator.token?.reveal(), key: operator.tls?.key.reveal() }],
    [['sessions', 'store'], sessions.store.reveal()],
    [['sessions', 'sealKeys'], sessions.sealKeys.map((key) => key.reveal())],
    [['sessions', 'nearCache'], sessions.nearCache],
    [['limits', 'failedLogins'], config.limits.failedLogins],
    [['workers'], config.workers],
    [['bodies'], config.bodies],
    [['log', 'level'], config.log.level],
    [['audit'], config.audit],
    [
      ['service'],
      service && {
        ...service,
        keypairs: service.keypairs.map((pair) => ({ ...pair, secretKey: pair.secretKey.reveal() })),
      },
    ],
  ];
  return settings.map(([path, value]) => ({
    path: path.join('.'),
    digest: hash('sha256', JSON.stringify(value) ?? ''),
    warning: document.fault(path, 'this change needs a restart; until then the old value stays in force'),
  }));
}

/** The warnings about settings that differ between the configuration in force and the one that takes its place. */
export function changedSettings(inForce: readonly FixedSetting[], next: readonly FixedSetting[]): Fault[] {
  const digests = new Map(inForce.map(({ path, digest }) => [path, digest]));
  return next.filter(({ path, digest }) => digests.get(path) !== digest).map(({ warning }) => warning);
}

/** The next snapshot with those settings as they are in force. */
export function keepFixedSettings(inForce: Snapshot, next: Snapshot): Snapshot {
  const { trustProxies, maxHeaders } = next.listen;
  const tls = kindOfTls(next.listen.tls) === kindOfTls(inForce.listen.tls) ? next.listen.tls : inForce.listen.tls;
  return {
    ...next,
    listen: { ...inForce.listen, trustProxies, maxHeaders, tls },
    sessions: { ...inForce.sessions, lifetime: next.sessions.lifetime },
    limits: { ...next.limits, failedLogins: inForce.limits.failedLogins },
    workers: inForce.workers,
    bodies: inForce.bodies,
    logLevel: inForce.logLevel,
    audit: inForce.audit,
  };
}

/** A listener can change its certificates, but not begin to speak TLS or to ask for those of clients. */
function kindOfTls(tls: { readonly clientCa?: string | undefined } | undefined): 'plain' | 'tls' | 'mutual' {
  if (tls === undefined) return 'plain';
  return tls.clientCa === undefined ? 'tls' : 'mutual';
}

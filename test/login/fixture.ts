import { KeypairRing } from '../../src/keypair-ring.ts';
import { Secret } from '../../src/secret.ts';
import { DIALECTS } from '../../src/signing/dialect.ts';
import { Keypair, type LoginSettings, type Tenant, type User } from '../../src/tenant.ts';

export const LIFETIME = { idle: 60_000, absolute: 600_000 };

/** A tenant of which only the name and the login matter. */
export function tenantWith(login: LoginSettings, name = 'acme'): Tenant {
  return {
    name,
    origins: new Set(['https://console.acme.example']),
    upstream: {
      endpoints: ['https://api.service.example'],
      version: 'v4.20190315',
      dialect: DIALECTS.service,
      problemBase: 'https://problems.acme.example',
      mount: '',
      signedHost: undefined,
      passHeaders: new Set(),
      passSetCookie: false,
      timeouts: { connect: 1_000, headers: 1_000, idle: 1_000 },
      connections: 1,
      breaker: { failures: 5, ratio: 0.5, volume: 20, open: 1000, longestOpen: 30_000 },
      retries: { ratio: 0.2, minimum: 10 },
      health: undefined,
      followClock: true,
      tls: undefined,
    },
    keypairs: new Map([['user', KeypairRing.of(new Keypair('AKIA', new Secret('s')))]]),
    login,
    routes: [],
    site: undefined,
    siteHeaders: [],
  };
}

export function usersOf(...users: readonly User[]): ReadonlyMap<string, User> {
  return new Map(users.map((user) => [user.name, user]));
}

import { randomBytes } from 'node:crypto';
import { hashPassword } from '../login/password-hash.ts';
import { Secret } from '../secret.ts';
import { startService } from '../service/server.ts';
import type { SmokeOptions } from './context.ts';
import type { Site } from './front-end.ts';
import { Recorder } from './recorder.ts';

/** What is made up for one run: nothing of it is known beforehand, so that finding it anywhere is a finding. */
export interface Identities {
  readonly visitor: Pair;
  readonly admin: Pair;
  readonly limited: Pair;
  readonly recorder: Pair;
  readonly password: string;
  readonly passwordHash: string;
}

interface Pair {
  readonly accessKey: string;
  readonly secretKey: string;
}

export interface Upstreams {
  readonly serviceOrigin: string;
  readonly recorder: Recorder;
  close(): Promise<void>;
}

const VERSION = 'v4.20190315';
/** Beyond what a run sends; low enough for a fall by one to be seen. */
const QUOTA = { requests: 5000, window: 60_000 };
const LIMITED_QUOTA = 2;
const UNLIMITED = { requests: 1_000_000, per: '1m' };

const ORIGINS = {
  smoke: 'http://smoke.localhost',
  recorded: 'http://recorded.localhost',
  secure: 'https://secure.localhost',
} as const;

export async function makeIdentities(): Promise<Identities> {
  const pair = (name: string): Pair => ({ accessKey: `AKIASMOKE${name}`, secretKey: random() });
  const password = random();
  return {
    visitor: pair('VISITOR'),
    admin: pair('ADMIN'),
    limited: pair('LIMITED'),
    recorder: pair('RECORDER'),
    password,
    passwordHash: await hashPassword(password),
  };
}

export function secretsOf(identities: Identities): string[] {
  const { visitor, admin, limited, recorder } = identities;
  return [...[visitor, admin, limited, recorder].map(({ secretKey }) => secretKey), identities.password];
}

/** The reference Service, and the recorder for what a Service cannot tell. */
export async function startUpstreams(identities: Identities): Promise<Upstreams> {
  const keypair = ({ accessKey, secretKey }: Pair) => ({ accessKey, secretKey: new Secret(secretKey), isAdmin: false });
  const service = await startService({
    host: '127.0.0.1',
    port: 0,
    version: VERSION,
    rateLimit: QUOTA,
    keypairs: [
      keypair(identities.visitor),
      { ...keypair(identities.admin), isAdmin: true },
      { ...keypair(identities.limited), rateLimit: LIMITED_QUOTA },
    ],
  });
  const recorder = await Recorder.start(secretsOf(identities));
  const close = async () => {
    await Promise.all([service.close(), recorder.close()]);
  };
  return { serviceOrigin: service.origin, recorder, close };
}

/** The configuration of the gateway under test; the two origins may be those of something in between. */
export function localConfig(identities: Identities, origins: { readonly service: string; readonly recorder: string }) {
  const upstream = (endpoint: string) => ({
    endpoints: [endpoint],
    version: VERSION,
    problemBase: 'https://problems.smoke.example',
  });
  const onRecorder = (origin: string) => ({
    origins: [origin],
    upstream: upstream(origins.recorder),
    keypairs: { visitor: identities.recorder },
    login: { visitor: { role: 'visitor' } },
    routes: [
      { path: '/v2', roles: ['visitor'] },
      { path: '/v2/small', roles: ['visitor'], maxBody: '1KiB' },
    ],
  });
  const { visitor, admin, limited, passwordHash } = identities;
  return {
    listen: { host: '127.0.0.1', port: 0 },
    limits: { address: UNLIMITED, session: UNLIMITED, sessionCreation: UNLIMITED },
    tenants: {
      smoke: {
        origins: [ORIGINS.smoke],
        upstream: upstream(origins.service),
        keypairs: { visitor, admin, limited },
        login: {
          visitor: { role: 'visitor' },
          password: {
            users: {
              admin: { password: passwordHash, roles: ['admin'] },
              limited: { password: passwordHash, roles: ['limited'] },
            },
          },
        },
        routes: [
          {
            path: '/v2/admin/gql',
            methods: ['POST'],
            roles: ['visitor', 'admin'],
            graphql: { visitor: ['groups'], admin: ['groups', 'create_group', 'modify_group', 'delete_group'] },
          },
          { path: '/v2/admin', roles: ['admin'] },
          { path: '/v2', roles: ['visitor', 'admin', 'limited'], ownerAccessKey: ['admin'] },
        ],
      },
      recorded: onRecorder(ORIGINS.recorded),
      secure: onRecorder(ORIGINS.secure),
    },
  };
}

/** What the checks are told of a gateway with that configuration that is reached at `port`. */
export function localOptions(identities: Identities, recorder: Recorder, port: number): SmokeOptions {
  const site = (origin: string): Site => ({ address: { host: '127.0.0.1', port, tls: false }, origin, mount: '' });
  return {
    site: site(ORIGINS.smoke),
    tenant: 'smoke',
    secrets: secretsOf(identities),
    inside: {
      recorder,
      recorded: site(ORIGINS.recorded),
      secure: site(ORIGINS.secure),
      version: VERSION,
      recorderKey: identities.recorder,
      visitorAccessKey: identities.visitor.accessKey,
      adminAccessKey: identities.admin.accessKey,
      admin: { method: 'password', username: 'admin', password: identities.password },
      limited: { method: 'password', username: 'limited', password: identities.password },
    },
  };
}

function random(): string {
  return randomBytes(24).toString('base64url');
}

import { Secret } from '../secret.ts';
import type { ServiceKeypair } from './keyring.ts';

/**
 * The master dummy pair (service-api.md §5) and a visitor's pair for trying things out. They are published in this
 * repository, so a listener that knows them must stay on loopback.
 */
export const DEMO_KEYPAIRS = [
  {
    accessKey: 'AKIADEMOADMINEXAMPLE1',
    secretKey: new Secret('demo-admin-secret-not-for-production-use'),
    isAdmin: true,
  },
  {
    accessKey: 'AKIADEMOVISITOREXAMPL',
    secretKey: new Secret('demo-visitor-secret-not-for-production-use'),
    isAdmin: false,
  },
] as const satisfies readonly ServiceKeypair[];

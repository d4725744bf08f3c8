import { SERVICE, verifySignature } from '../../test/kit/verify-signature.ts';
import type { Seen } from '../upstream-reply.ts';

/** What every peer that signs for the Service signs with. */
export const KEYPAIR = { accessKey: 'AKIABENCHVISITOR0001', secretKey: 'bench-secret-not-for-production-use' };
export const VERSION = 'v4.20190315';

/** Throws unless a request is signed by the keypair (service-api.md §5), by a verifier that shares no line with any signer. */
export function judgeSignature({ method, target, headers }: Seen, body: string): void {
  if (headers.some(([name]) => name.toLowerCase() === 'cookie')) throw new Error('passes the cookie on');
  const { ok, why } = verifySignature(
    { method, target, rawHeaders: headers, body: Buffer.from(body) },
    { brand: SERVICE, keypairs: { [KEYPAIR.accessKey]: KEYPAIR.secretKey }, now: Date.now() },
  );
  if (!ok) throw new Error(`signs wrongly: ${why}`);
}

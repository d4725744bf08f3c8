import { createHash } from 'node:crypto';
import type { RunningPeer } from '../peer.ts';
import type { Seen } from '../upstream-reply.ts';

/** Throws unless a request with this body arrived whole and as the peer's job demands. */
export function checkSeen(peer: RunningPeer, seen: Seen, body: string): void {
  const sent = createHash('sha256').update(body).digest('hex');
  if (seen.bodySha256 !== null && seen.bodySha256 !== sent) throw new Error('does not pass on the body');
  peer.judge?.(seen, body);
}

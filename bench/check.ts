import { ask } from './ask.ts';
import type { RunningPeer } from './peer.ts';
import { RATE_HEADERS, REPLY_BODY } from './upstream-reply.ts';
import type { Workload } from './workload.ts';

/** Rejects unless the peer answers a workload as the upstream does, rate-limit headers included. */
export async function checkAnswer({ port, cookie }: RunningPeer, workload: Workload): Promise<void> {
  const { method, path, headers, body } = workload;
  const answer = await ask(port, { method, path, headers: { ...headers, Cookie: cookie }, body });
  if (answer.status !== 200) throw new Error(`answers ${answer.status}: ${answer.body.slice(0, 200)}`);
  if (answer.body !== REPLY_BODY) throw new Error('does not relay the body');
  for (const [name, value] of Object.entries(RATE_HEADERS)) {
    if (answer.headers[name.toLowerCase()] !== value) throw new Error(`does not relay ${name}`);
  }
}

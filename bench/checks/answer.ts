import { type Answer, ask, unexpected } from '../ask.ts';
import type { RunningPeer } from '../peer.ts';
import { RATE_HEADERS, SEEN_PATH, type Seen } from '../upstream-reply.ts';
import type { RequestShape } from '../workload.ts';
import { checkSeen } from './seen.ts';

/**
 * Rejects unless the peer relays the upstream's answer to a request whole, rate-limit headers included, and unless the
 * upstream sees of such a request what the peer's job demands.
 */
export async function checkAnswer(peer: RunningPeer, request: RequestShape, expected: string | Buffer): Promise<void> {
  const answer = await askPeer(peer, request);
  if (!answer.bytes.equals(Buffer.from(expected)))
    throw new Error(`does not relay the body: ${answer.body.slice(0, 200)}`);
  for (const [name, value] of Object.entries(RATE_HEADERS)) {
    if (answer.headers[name.toLowerCase()] !== value) throw new Error(`does not relay ${name}`);
  }
  if (peer.answersItself) return;
  const { body } = await askPeer(peer, { ...request, path: SEEN_PATH });
  checkSeen(peer, JSON.parse(body) as Seen, request.body ?? '');
}

async function askPeer({ port, cookie }: RunningPeer, request: RequestShape): Promise<Answer> {
  const answer = await ask(port, { ...request, headers: { ...request.headers, Cookie: cookie } });
  if (answer.status !== 200) throw unexpected(`${request.method} ${request.path}`, answer);
  return answer;
}

import { ask, unexpected } from '../ask.ts';
import { SEEN_PATH } from '../upstream-reply.ts';
import { PAGE_HEADERS } from '../workload.ts';

/** Rejects unless a request without a session is refused. */
export async function refusesStrangers(port: number): Promise<void> {
  const answer = await ask(port, { method: 'GET', path: SEEN_PATH, headers: PAGE_HEADERS });
  if (answer.status !== 401) throw unexpected('a request without the cookie', answer);
}

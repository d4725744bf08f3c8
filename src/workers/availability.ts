import { Problem } from '../problem.ts';
import { Unanswered } from './channel.ts';

/** What only the primary can say is refused while it does not answer: a count or a session that is not known is none. */
export async function available<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (thrown) {
    if (!(thrown instanceof Unanswered)) throw thrown;
    throw new Problem('session-store-unavailable', 'The gateway cannot tell its workers of this at the moment.', {
      headers: { 'Retry-After': '1' },
      cause: thrown,
    });
  }
}

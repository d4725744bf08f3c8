import { Problem } from '../../problem.ts';

/** Seconds after which a client may try again: uploads under way may be over by then. */
const RETRY_AFTER = '5';

/** The budget for bodies is used up by others. `close`: part of the body has arrived, and the rest will not be read. */
export function noRoom(close: boolean): Problem {
  return new Problem('insufficient-storage', 'There is no room for this body now: try again later.', {
    headers: { 'Retry-After': RETRY_AFTER },
    close,
  });
}

/** The temporary folder did not take the body, or does not give it back. */
export function storageFailed(cause: Error): Problem {
  return new Problem('insufficient-storage', 'The body could not be stored: try again later.', {
    headers: { 'Retry-After': RETRY_AFTER },
    close: true,
    cause,
  });
}

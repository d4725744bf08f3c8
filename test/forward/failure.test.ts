import { describe, expect, it } from 'vitest';
import { failureOf } from '../../src/forward/failure.ts';
import { mayRetry } from '../../src/forward/retry.ts';

const failed = (code: string, more: object = {}) => Object.assign(new Error('any text'), { code, ...more });
const FIRST = { attempt: 1, bodyReplayable: true, untriedEndpoint: true };

describe('what befell a connection', () => {
  it.each(['ECONNREFUSED', 'EHOSTUNREACH', 'CERT_HAS_EXPIRED', 'ECONNRESET', 'UPSTREAM_CLOSED'])(
    'while it was made leaves any request free for another endpoint: %s',
    (code) => {
      const failure = failureOf(failed(code), false);
      expect(failure).toMatchObject({ kind: 'connect', code });
      expect(mayRetry(failure, 'POST', FIRST)).toBe(true);
    },
  );

  // The network's word for a host that went away, and a TLS record that is damaged, come also in the middle of an exchange:
  // sent again, the POST would be done twice.
  it.each(['EHOSTUNREACH', 'ENETUNREACH', 'ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC', 'ECONNRESET'])(
    'once it carried a POST says nothing of whether that was done: %s',
    (code) => {
      const failure = failureOf(failed(code), true);
      expect(failure).toMatchObject({ kind: 'broken', code });
      expect(mayRetry(failure, 'POST', FIRST)).toBe(false);
      expect(mayRetry(failure, 'GET', FIRST)).toBe(true);
    },
  );

  it('is told by its code alone where nobody knows what was sent', () => {
    expect(failureOf(failed('EHOSTUNREACH')).kind).toBe('connect');
    expect(failureOf(failed('ECONNRESET')).kind).toBe('broken');
  });
});

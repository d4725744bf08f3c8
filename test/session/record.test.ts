import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeSession, encodeSession } from '../../src/session/record.ts';
import type { Session } from '../../src/session/session.ts';
import { newSession } from './fixture.ts';

const instant = fc.integer({ min: 0, max: 8.64e15 });
const anySession: fc.Arbitrary<Session> = fc.record({
  key: fc.string(),
  tenant: fc.string({ unit: 'binary' }),
  subject: fc.option(fc.string({ unit: 'binary' }), { nil: undefined }),
  roles: fc.array(fc.string()),
  method: fc.string(),
  createdAt: instant,
  seenAt: instant,
  lifetime: fc.record({ idle: instant, absolute: instant }),
});

describe('a session record', () => {
  it('decodes to the session that was encoded', () => {
    fc.assert(
      fc.property(anySession, (session) => {
        expect(decodeSession(session.key, encodeSession(session))).toEqual(session);
      }),
    );
  });

  it('takes its key from where it was found, not from what it says', () => {
    const session = newSession();
    expect(decodeSession('elsewhere', encodeSession(session))).toEqual({ ...session, key: 'elsewhere' });
  });

  it('is no session when any field is missing or of another type', () => {
    const record: Record<string, unknown> = JSON.parse(encodeSession(newSession()));
    for (const field of Object.keys(record)) {
      for (const wrong of [null, {}, true, [1]]) {
        expect(decodeSession('key', JSON.stringify({ ...record, [field]: wrong })), field).toBeUndefined();
      }
      if (field === 'subject') continue;
      expect(decodeSession('key', JSON.stringify({ ...record, [field]: undefined })), field).toBeUndefined();
    }
  });

  it('is no session when the text is anything else', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(decodeSession('key', text)).toBeUndefined();
      }),
    );
  });
});

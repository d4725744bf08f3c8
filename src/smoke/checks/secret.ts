import type { Check } from '../check.ts';
import { Mismatch } from '../check.ts';
import { shown } from '../redact.ts';

/** Looks back at everything that was seen. Runs last. */
export const secretChecks: readonly Check[] = [
  {
    id: 'secret.unseen',
    says: 'no secret key, and no password, was in any answer or in any request that arrived upstream',
    rule: 'design §7; service-api.md §5, Credentials',
    needs: 'inside',
    async run(c) {
      const received = c.replies.map((reply) => Buffer.concat([reply.raw, reply.body]).toString('utf8'));
      const arrived = c.inside.recorder.arrivals.map((arrival) => arrival.text);
      for (const text of [...received, ...arrived]) {
        if (!c.secrets.some((secret) => text.includes(secret))) continue;
        throw new Mismatch({
          sent: 'one of the requests of this run',
          received: shown(text, c.secrets),
          expected: 'no secret anywhere',
        });
      }
    },
  },
];

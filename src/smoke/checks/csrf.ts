import { type Check, NotApplicable, SIGNED_IN } from '../check.ts';
import type { FrontEnd, RequestOptions } from '../front-end.ts';

type Proof = NonNullable<RequestOptions['proof']>;

const FOREIGN = 'https://smoke-foreign.example';

/** What a page elsewhere, or somebody who proves nothing, would send. */
const FOREIGN_PROOFS: readonly Proof[] = [
  [['Sec-Fetch-Site', 'cross-site']],
  [['Sec-Fetch-Site', 'same-site']],
  [['Sec-Fetch-Site', 'none']],
  [['Origin', FOREIGN]],
  [['Origin', 'null']],
  [
    ['Sec-Fetch-Site', 'same-origin'],
    ['Origin', FOREIGN],
  ],
  [],
];

async function mustRefuseForeign(user: FrontEnd, method: string, path: string, body?: string): Promise<void> {
  for (const proof of FOREIGN_PROOFS) {
    const exchange = await user.fetch(method, path, { proof, ...(body !== undefined && { body }) });
    if (exchange.isOwnRefusal('method-not-allowed', 'no-route')) {
      throw new NotApplicable(`${method} ${path} is on no route of the tenant`);
    }
    exchange.mustRefuse(403, 'csrf');
  }
}

/** Requests that another site makes in the user's name. */
export const csrfChecks: readonly Check[] = [
  {
    id: 'csrf.session',
    says: 'nobody is signed in or out from another site, by a sibling host, or without proof',
    rule: 'design §5, CSRF',
    needs: 'outside',
    async run(c) {
      await mustRefuseForeign(c.nobody, 'POST', '/-/session', '{"method":"smoke"}');
      await mustRefuseForeign(c.nobody, 'DELETE', '/-/session');
    },
  },
  {
    id: 'csrf.routes',
    says: 'an unsafe request to the Service from another site is refused',
    rule: 'design §5, CSRF',
    needs: 'outside',
    after: ['session.login', 'csrf.session'],
    async run(c) {
      // Elsewhere a route may say that REPORT only reads, and others may be closed to everybody.
      const methods = c.isInside ? ['POST', 'PUT', 'PATCH', 'DELETE', 'REPORT'] : ['POST'];
      for (const method of methods) await mustRefuseForeign(await c.user(), method, '/v2', '{}');
    },
  },
  {
    id: 'csrf.own',
    says: 'the front end itself passes: Sec-Fetch-Site, else its Origin, else X-Countersign',
    rule: 'design §5, CSRF',
    needs: 'outside',
    after: SIGNED_IN,
    async run(c) {
      const proofs: Proof[] = [
        [['Sec-Fetch-Site', 'same-origin']],
        [['Origin', c.nobody.site.origin]],
        [['X-Countersign', '1']],
      ];
      for (const proof of proofs) {
        const exchange = await c.nobody.fetch('POST', '/-/session', { proof, body: '{"method":"smoke"}' });
        exchange.must(exchange.code !== 'csrf', 'anything but 403 csrf');
      }
    },
  },
];

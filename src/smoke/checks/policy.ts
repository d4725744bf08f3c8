import { type Check, NotApplicable, RELAYED, SIGNED_IN } from '../check.ts';
import type { SmokeContext } from '../context.ts';
import { type Exchange, member } from '../exchange.ts';
import type { FrontEnd } from '../front-end.ts';

const SOMEBODY = 'AKIASMOKESOMEBODYELSE';
const GQL = '/v2/admin/gql';

/** Ways of naming owner_access_key that an upstream might understand. */
const QUERIES = [
  `owner_access_key=${SOMEBODY}`,
  `a=1&owner%5Faccess%5Fkey=${SOMEBODY}`,
  `%6fwner_access_key=${SOMEBODY}`,
  `owner_access_key=${SOMEBODY}&owner_access_key=${SOMEBODY}`,
  `OWNER_ACCESS_KEY=${SOMEBODY}`,
  `owner_access_key[]=${SOMEBODY}`,
];
const BODIES = [
  `{"owner_access_key":"${SOMEBODY}"}`,
  `{"\\u006fwner_access_key":"${SOMEBODY}"}`,
  `{"ids":[{"owner_access_key":"${SOMEBODY}"}]}`,
];

/** Mutations a visitor may not use, in the ways they could hide. None has the arguments it would need to change anything. */
const MUTATION = 'create_group { ok }';
const DOCUMENTS: readonly object[] = [
  { query: `mutation { ${MUTATION} }` },
  { query: `mutation { groups: ${MUTATION} }` },
  { query: `mutation { ... { ${MUTATION} } }` },
  { query: `mutation { ...f } fragment f on Mutation { ${MUTATION} }` },
  { query: `query a { groups { id } } mutation b { ${MUTATION} }`, operationName: 'b' },
  { query: `mutation { ${MUTATION.replace('{', '@include(if: false) {')} }` },
  [{ query: `mutation { ${MUTATION} }` }] as unknown as object,
];

/** A visitor for certain: whoever signs in by name may have been given the right. */
async function visitor(c: SmokeContext): Promise<FrontEnd> {
  if ((await c.credentials()).method !== 'visitor') throw new NotApplicable('told of a visitor’s session only');
  return c.user();
}

/** What a session may do is decided before anything is sent upstream (design §7). */
export const policyChecks: readonly Check[] = [
  {
    id: 'policy.owner-access-key',
    says: 'a visitor cannot name owner_access_key, in the query or the body, in any spelling',
    rule: 'design §7; service-api.md §4, owner_access_key',
    needs: 'outside',
    after: SIGNED_IN,
    async run(c) {
      const user = await visitor(c);
      for (const query of QUERIES) (await user.fetch('GET', `/v2?${query}`)).mustRefuse(403, 'owner-access-key');
      for (const body of BODIES) {
        const exchange = await user.fetch('REPORT', '/v2/kernel', { body });
        if (!isOffRoute(exchange)) exchange.mustRefuse(403, 'owner-access-key');
      }
    },
  },
  {
    id: 'policy.owner-access-key-admin',
    says: 'a role that may name it gets the scope of that access key',
    rule: 'service-api.md §4, owner_access_key 1–3',
    needs: 'inside',
    after: [...RELAYED, 'signing.body-hash', 'signing.version', 'policy.owner-access-key'],
    async run(c) {
      const [user, admin] = [await c.user(), await c.administrator()];
      const kernel = await user.fetch('POST', '/v2/kernel/create', { body: '{"lang":"smoke"}' });
      const path = `/v2/kernel/${member(kernel.json, 'id')}`;
      const own = await admin.fetch('GET', path);
      own.must(own.status === 404, '404: the kernel belongs to another access key');
      const borrowed = await admin.fetch('GET', `${path}?owner_access_key=${c.inside.visitorAccessKey}`);
      borrowed.must(borrowed.status === 200, '200: the administrator names the kernel’s access key');
      await user.fetch('DELETE', path);
    },
  },
  {
    id: 'policy.graphql',
    says: 'a visitor’s mutation is refused, behind alias, fragment, batch or operationName too',
    rule: 'design §7, GraphQL',
    needs: 'outside',
    after: SIGNED_IN,
    async run(c) {
      const user = await visitor(c);
      for (const document of DOCUMENTS) {
        const exchange = await user.fetch('POST', GQL, { body: JSON.stringify(document) });
        if (!exchange.isOwnRefusal('forbidden') && !isOffRoute(exchange)) exchange.mustRefuse(403, 'graphql-operation');
      }
    },
  },
  {
    id: 'policy.role',
    says: 'a route of another role is 403 forbidden',
    rule: 'design §7',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      (await (await c.user()).fetch('GET', '/v2/admin/smoke')).mustRefuse(403, 'forbidden');
    },
  },
  {
    id: 'policy.content-type',
    says: 'a body that is not application/json is 415',
    rule: 'design §7; service-api.md §4, Content-Type',
    needs: 'outside',
    after: SIGNED_IN,
    async run(c) {
      const user = await c.user();
      for (const contentType of ['text/plain', 'application/x-www-form-urlencoded', null]) {
        const exchange = await user.fetch('POST', '/v2', { body: '{}', contentType });
        if (isOffRoute(exchange)) throw new NotApplicable('POST /v2 is on no route of the tenant');
        exchange.mustRefuse(415, 'unsupported-media-type');
      }
    },
  },
  {
    id: 'policy.body-size',
    says: 'a body beyond the route’s limit is 413 body-too-large',
    rule: 'design §9',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const body = JSON.stringify('x'.repeat(2000));
      (await (await c.recorded()).fetch('POST', '/v2/small', { body })).mustRefuse(413, 'body-too-large');
    },
  },
];

function isOffRoute(exchange: Exchange): boolean {
  return exchange.isOwnRefusal('no-route', 'method-not-allowed');
}

import { type Check, NotApplicable, RELAYED } from '../check.ts';
import { type Exchange, member } from '../exchange.ts';
import type { FrontEnd } from '../front-end.ts';

const PATH = '/v2/admin/gql';
const CREATE =
  'mutation($name: String!, $props: GroupInput!) { create_group(name: $name, props: $props) { ok msg keypair { access_key } } }';
const MODIFY =
  'mutation($name: String!, $props: ModifyGroupInput!) { modify_group(name: $name, props: $props) { ok msg } }';
const DELETE = 'mutation($name: String!) { delete_group(name: $name) { ok msg } }';

/** One mutation; the answer must have its result with `ok` and `msg`. */
async function mutate(user: FrontEnd, field: string, query: string, variables: object): Promise<[Exchange, unknown]> {
  const exchange = await user.fetch('POST', PATH, { body: JSON.stringify({ query, variables }) });
  if (exchange.isOwnRefusal('graphql-operation', 'forbidden', 'no-route')) {
    throw new NotApplicable('who is signed in may not administer groups');
  }
  const result = member(exchange.json, 'data', field);
  const isResult = typeof member(result, 'ok') === 'boolean' && typeof member(result, 'msg') === 'string';
  exchange.must(exchange.status === 200 && isResult, `200 and data.${field} with ok, a Boolean, and msg, a String`);
  return [exchange, member(result, 'ok')];
}

/** Groups, created under a random name and deleted again (service-api.md §2, §4). */
export const graphqlChecks: readonly Check[] = [
  {
    id: 'graphql.groups',
    says: 'an administrator creates, renames and deletes a group; every result has ok and msg, a new one its keypair',
    rule: 'service-api.md §4, GraphQL mutations; §2, Mutation result types',
    needs: 'outside',
    after: [...RELAYED, 'signing.body-hash'],
    async run(c) {
      const admin = await c.administrator();
      const name = `smoke-${crypto.randomUUID()}`;
      const renamed = `${name}-renamed`;
      const [created, ok] = await mutate(admin, 'create_group', CREATE, {
        name,
        props: { domain_name: 'smoke', total_resource_slots: '{}' },
      });
      created.must(ok === true, 'ok true');
      try {
        const key = member(created.json, 'data', 'create_group', 'keypair', 'access_key');
        created.must(typeof key === 'string' && key !== '', 'the keypair of the new group');
        const [modified, done] = await mutate(admin, 'modify_group', MODIFY, { name, props: { name: renamed } });
        modified.must(done === true, 'ok true: props.name is the new name');
      } finally {
        await mutate(admin, 'delete_group', DELETE, { name });
        await mutate(admin, 'delete_group', DELETE, { name: renamed });
      }
      const [again, gone] = await mutate(admin, 'delete_group', DELETE, { name: renamed });
      again.must(gone === false, 'ok false: the group was deleted before');
    },
  },
  {
    id: 'graphql.outcome',
    says: 'what cannot be done is told by ok false and msg, not by the status',
    rule: 'service-api.md §4 rule 1, §7.6',
    needs: 'inside',
    after: ['graphql.groups'],
    async run(c) {
      const admin = await c.administrator();
      const name = `smoke-${crypto.randomUUID()}`;
      const [exchange, ok] = await mutate(admin, 'modify_group', MODIFY, { name, props: { is_active: false } });
      exchange.must(ok === false, 'ok false: there is no such group');
    },
  },
];

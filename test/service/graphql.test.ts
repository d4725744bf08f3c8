import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Secret } from '../../src/secret.ts';
import type { RunningService } from '../../src/service/server.ts';
import { Keypair } from '../../src/tenant.ts';
import { ADMIN, call, codeOf, idOf, start, USER } from './client.ts';

let service: RunningService;
beforeEach(async () => {
  service = await start();
  onTestFinished(() => service.close());
});

const CREATE = `mutation Create($name: String!, $props: GroupInput!) {
  create_group(name: $name, props: $props) { ok msg keypair { access_key secret_key is_active is_admin created_at rate_limit } }
}`;
const MODIFY = `mutation Modify($name: String!, $props: ModifyGroupInput!) {
  modify_group(name: $name, props: $props) { ok msg }
}`;
const DELETE = 'mutation Delete($name: String!) { delete_group(name: $name) { ok msg } }';
const GROUPS = `query Groups($domain_name: String, $is_active: Boolean) {
  groups(domain_name: $domain_name, is_active: $is_active) {
    name description is_active domain_name total_resource_slots allowed_vfolder_hosts integration_id user_uuids
  }
}`;

interface Outcome {
  readonly ok: boolean;
  readonly msg: string;
  readonly keypair: Readonly<Record<string, string>> | null;
}

/** The result of the one root field that was asked for. */
async function run<T = Outcome>(query: string, variables: object = {}, as: Keypair = ADMIN): Promise<T> {
  const reply = await call(service, 'POST', '/v2/admin/gql', { as, body: { query, variables } });
  expect([reply.status, reply.body['errors']]).toEqual([200, undefined]);
  return Object.values(reply.body['data'] as object)[0] as T;
}

const createGroup = (name: string, props: object = {}) =>
  run(CREATE, { name, props: { domain_name: 'default', ...props } });
const modifyGroup = (name: string, props: object) => run(MODIFY, { name, props });
const groups = (filter: object = {}) => run<Record<string, unknown>[]>(GROUPS, filter);
const keypairOf = ({ keypair }: Outcome) =>
  new Keypair(keypair?.['access_key'] ?? '', new Secret(keypair?.['secret_key'] ?? ''));

describe('create_group', () => {
  it('keeps every field of its input', async () => {
    const outcome = await createGroup('research', {
      description: 'All of research',
      total_resource_slots: '{"cpu": "8", "cuda.shares": "0.5"}',
      allowed_vfolder_hosts: ['local:volume1'],
      integration_id: 'ldap-7',
    });
    expect(outcome).toMatchObject({ ok: true, msg: 'success' });
    expect(await groups()).toEqual([
      {
        name: 'research',
        description: 'All of research',
        is_active: true,
        domain_name: 'default',
        total_resource_slots: '{"cpu":"8","cuda.shares":"0.5"}',
        allowed_vfolder_hosts: ['local:volume1'],
        integration_id: 'ldap-7',
        user_uuids: [],
      },
    ]);
  });

  it('makes a keypair, shown once, that signs from then on', async () => {
    const outcome = await createGroup('research');
    expect(outcome.keypair).toMatchObject({ is_active: true, is_admin: false, rate_limit: 30_000 });
    const keypair = keypairOf(outcome);
    expect((await call(service, 'POST', '/v2/kernel/create', { as: keypair, body: { lang: 'r' } })).status).toBe(201);
    const own = await run<Record<string, unknown>>('{ keypair { access_key secret_key is_admin } }', {}, keypair);
    expect(own).toEqual({ access_key: keypair.accessKey, secret_key: null, is_admin: false });
  });

  it.each([
    ['not an object', '[]'],
    ['a number for an amount', '{"cpu": 8}'],
    ['a negative amount', '{"cpu": "-8"}'],
    ['no number', '{"cpu": "many"}'],
    ['an exponent', '{"cpu": "1e3"}'],
    ['an unspeakable slot', '{"c p u": "1"}'],
  ])('refuses resource slots that are %s', async (_what, total_resource_slots) => {
    expect(await createGroup('research', { total_resource_slots })).toEqual({
      ok: false,
      msg: 'total_resource_slots must be a JSON object of slot names and decimal strings',
      keypair: null,
    });
    expect(await groups()).toEqual([]);
  });

  it('refuses a name that is taken, in any domain', async () => {
    await createGroup('research');
    expect(await createGroup('research', { domain_name: 'other' })).toEqual({
      ok: false,
      msg: 'group already exists: research',
      keypair: null,
    });
  });

  it('refuses names that cannot be shown', async () => {
    expect(await createGroup('')).toMatchObject({ ok: false });
    expect(await createGroup('a\nb')).toMatchObject({ ok: false });
    expect(await createGroup('x'.repeat(65))).toMatchObject({ ok: false });
    expect(await createGroup('ok', { domain_name: '' })).toMatchObject({ ok: false });
  });
});

describe('modify_group', () => {
  it('changes what is given and leaves the rest, also the name', async () => {
    await createGroup('research', { description: 'old', integration_id: 'x' });
    expect(await modifyGroup('research', { name: 'science', description: 'new', domain_name: 'labs' })).toEqual({
      ok: true,
      msg: 'success',
    });
    expect(await groups()).toMatchObject([
      { name: 'science', description: 'new', domain_name: 'labs', integration_id: 'x', is_active: true },
    ]);
  });

  it('adds and removes users', async () => {
    const [one, two] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];
    await createGroup('research');
    await modifyGroup('research', { user_update_mode: 'add', user_uuids: [one, two, one] });
    expect(await groups()).toMatchObject([{ user_uuids: [one, two] }]);
    await modifyGroup('research', { user_update_mode: 'remove', user_uuids: [one] });
    expect(await groups()).toMatchObject([{ user_uuids: [two] }]);
    expect(
      await modifyGroup('research', { user_update_mode: null, user_uuids: [one], description: 'x' }),
    ).toMatchObject({
      ok: true,
    });
    expect(await groups()).toMatchObject([{ user_uuids: [two], description: 'x' }]);
    expect(await modifyGroup('research', { user_update_mode: 'replace', user_uuids: [one] })).toEqual({
      ok: false,
      msg: 'user_update_mode must be add, remove or null',
    });
    expect(await modifyGroup('research', { user_update_mode: 'add', user_uuids: ['me'] })).toMatchObject({ ok: false });
  });

  it('says what stands in the way', async () => {
    await createGroup('research');
    await createGroup('science');
    expect(await modifyGroup('nobody', { description: 'x' })).toEqual({ ok: false, msg: 'no such group: nobody' });
    expect(await modifyGroup('research', {})).toEqual({ ok: false, msg: 'nothing to change' });
    expect(await modifyGroup('research', { name: 'science' })).toEqual({
      ok: false,
      msg: 'group already exists: science',
    });
    expect(await modifyGroup('research', { total_resource_slots: '{"cpu":1}' })).toMatchObject({ ok: false });
    expect(await modifyGroup('research', { name: 'research' })).toEqual({ ok: true, msg: 'success' });
  });
});

describe('a group’s keypair', () => {
  const statusAs = async (as: Keypair) => (await call(service, 'GET', '/v2', { as })).status;

  it('is active as long as the group is', async () => {
    const outcome = await createGroup('research', { is_active: false });
    expect(outcome.keypair).toMatchObject({ is_active: false });
    expect(await statusAs(keypairOf(outcome))).toBe(401);
    await modifyGroup('research', { is_active: true });
    expect(await statusAs(keypairOf(outcome))).toBe(200);
    await modifyGroup('research', { is_active: false });
    expect(await statusAs(keypairOf(outcome))).toBe(401);
  });

  it('goes with the group, and so do its kernels', async () => {
    const outcome = await createGroup('research');
    const { accessKey } = keypairOf(outcome);
    const path = `/v2/kernel?owner_access_key=${accessKey}`;
    const kernel = await call(service, 'POST', '/v2/kernel/create', { as: keypairOf(outcome), body: { lang: 'r' } });
    expect((await call(service, 'GET', path, { as: ADMIN })).body).toMatchObject({ items: [{ id: idOf(kernel) }] });
    expect(await run(DELETE, { name: 'research' })).toEqual({ ok: true, msg: 'success' });
    expect(await statusAs(keypairOf(outcome))).toBe(401);
    expect((await call(service, 'GET', path, { as: ADMIN })).status).toBe(404);
    expect(await run(DELETE, { name: 'research' })).toEqual({ ok: false, msg: 'no such group: research' });
    expect(await groups()).toEqual([]);
  });
});

describe('privilege', () => {
  it('is needed for every mutation, and the refusal is an outcome', async () => {
    await createGroup('research');
    const props = { domain_name: 'default' };
    expect(await run(CREATE, { name: 'x', props }, USER)).toEqual({
      ok: false,
      msg: 'no permission to execute create_group',
      keypair: null,
    });
    expect(await run(MODIFY, { name: 'research', props: { description: 'x' } }, USER)).toEqual({
      ok: false,
      msg: 'no permission to execute modify_group',
    });
    expect(await run(DELETE, { name: 'research' }, USER)).toEqual({
      ok: false,
      msg: 'no permission to execute delete_group',
    });
    expect(await groups()).toMatchObject([{ name: 'research', description: null }]);
  });
});

describe('queries', () => {
  it('filter groups and find one by name', async () => {
    await createGroup('a', { domain_name: 'one' });
    await createGroup('b', { domain_name: 'two', is_active: false });
    expect((await groups({ domain_name: 'two' })).map(({ name }) => name)).toEqual(['b']);
    expect((await groups({ is_active: true })).map(({ name }) => name)).toEqual(['a']);
    const find = 'query ($name: String!) { group(name: $name) { name } }';
    expect(await run(find, { name: 'b' })).toEqual({ name: 'b' });
    expect(await run(find, { name: 'c' })).toBeNull();
  });
});

describe('the endpoint', () => {
  const post = (body: unknown) => call(service, 'POST', '/v2/admin/gql', { as: ADMIN, body });

  it('picks the operation by its name', async () => {
    const query = 'query A { keypair { access_key } } query B { groups { name } }';
    const reply = await post({ query, operationName: 'B' });
    expect([reply.status, reply.body]).toEqual([200, { data: { groups: [] } }]);
    expect((await post({ query })).status).toBe(400);
  });

  it('takes a GroupInput written into the document', async () => {
    const slots = String.raw`"{\"cpu\": \"1\"}"`;
    const query = `mutation { create_group(name: "a", props: {domain_name: "d", total_resource_slots: ${slots}}) { ok } }`;
    expect((await post({ query })).body).toEqual({ data: { create_group: { ok: true } } });
  });

  it.each([
    ['syntax', '{ groups { name }', {}],
    ['an unknown field', '{ users { name } }', {}],
    ['a missing domain_name', CREATE, { name: 'a', props: {} }],
    ['JSON text that is no JSON', CREATE, { name: 'a', props: { domain_name: 'd', total_resource_slots: '{' } }],
    ['JSON that is no text', CREATE, { name: 'a', props: { domain_name: 'd', total_resource_slots: { cpu: '1' } } }],
    ['a document of too many tokens', `{ ${'groups { name } '.repeat(5_000)} }`, {}],
  ])('answers 400 with errors to %s', async (_what, query, variables) => {
    const reply = await post({ query, variables });
    expect(reply.status).toBe(400);
    expect(reply.body['errors']).toEqual(
      expect.arrayContaining([{ message: expect.any(String), locations: expect.any(Array) }]),
    );
  });

  it.each([
    {},
    { query: 1 },
    { query: '{ keypair { access_key } }', variables: [] },
    [{ query: '{ groups { name } }' }],
  ])('answers a problem to the envelope %j', async (body) => {
    const reply = await post(body);
    expect([reply.status, codeOf(reply)]).toEqual([400, 'invalid-params']);
  });
});

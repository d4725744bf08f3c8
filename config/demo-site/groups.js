import { send } from './api.js';
import { byId, element, whileBusy } from './element.js';
import { hasRole, onSession } from './identity.js';
import { showReply, showText } from './result.js';

const LIST = 'query { groups { name description is_active domain_name } }';
const CREATE = `mutation ($name: String!, $props: GroupInput!) {
  create_group(name: $name, props: $props) { ok msg keypair { access_key } }
}`;
const MODIFY = `mutation ($name: String!, $props: ModifyGroupInput!) {
  modify_group(name: $name, props: $props) { ok msg }
}`;
const DELETE = 'mutation ($name: String!) { delete_group(name: $name) { ok msg } }';

const output = byId('groups-result');
const list = byId('groups');

/** @param {string} query @param {object} [variables] */
export function graphql(query, variables = {}) {
  return send('POST', '/v2/admin/gql', { json: { query, variables } });
}

export function startGroups() {
  byId('create-group').addEventListener('submit', (event) => {
    event.preventDefault();
    const form = event.currentTarget;
    const { name, ...props } = Object.fromEntries(new FormData(form));
    whileBusy(form.querySelector('button'), async () => {
      const result = await mutate(CREATE, { name, props }, `Created ${name}`);
      if (!result) return;
      form.reset();
      form.elements.namedItem('name').focus();
    });
  });

  onSession(async ({ authenticated }) => {
    byId('group-fields').disabled = !hasRole('admin');
    showText(
      output,
      hasRole('admin')
        ? 'A group comes with a keypair of its own. The gateway lets its access key through; nobody asks for the secret.'
        : 'A visitor may read the groups and no more. Sign in as administrator to change them.',
    );
    if (authenticated) await refresh();
    else show([], 'Sign in to see the groups.');
  });
}

/** Sends one mutation, then shows the groups as they are now. The Service reports failure in `ok` and `msg`. */
async function mutate(query, variables, done) {
  const reply = await graphql(query, variables);
  const [result] = Object.values(reply.data?.data ?? {});
  if (reply.ok && result?.ok !== true) {
    const detail = result?.msg ?? reply.data?.errors?.[0]?.message ?? 'The answer says no more.';
    showReply(output, { ...reply, problem: { code: 'ok: false', title: 'The Service declined', detail } });
    return undefined;
  }
  const accessKey = result?.keypair?.access_key;
  showReply(output, reply, accessKey ? `${done}, access key ${accessKey}` : done);
  if (!reply.ok) return undefined;
  await refresh();
  return result;
}

async function refresh() {
  const reply = await graphql(LIST);
  if (reply.data?.data?.groups) show(reply.data.data.groups, 'No groups yet.');
  else showReply(output, reply, 'The Service sent no groups');
}

function show(groups, whenEmpty) {
  const newestFirst = groups.toReversed();
  list.replaceChildren(...(groups.length > 0 ? newestFirst.map(item) : [element('li', { class: 'empty' }, whenEmpty)]));
}

function item(group) {
  const { name, description, domain_name: domain, is_active: isActive } = group;
  return element(
    'li',
    {},
    element(
      'p',
      { class: 'group' },
      element('strong', {}, name),
      element('span', { class: 'badge', 'data-active': String(isActive) }, isActive ? 'active' : 'inactive'),
      element('span', { class: 'about' }, description ? `${domain} · ${description}` : domain),
    ),
    ...(hasRole('admin') ? actions(group) : []),
  );
}

function actions(group) {
  const { name } = group;
  const remove = (event) =>
    whileBusy(event.currentTarget, async () => {
      if (await mutate(DELETE, { name }, `Deleted ${name}`)) list.focus();
    });
  return [
    element(
      'button',
      { class: 'quiet', type: 'button', 'aria-label': `Change ${name}`, onclick: () => edit(group) },
      'Change',
    ),
    element(
      'button',
      { class: 'quiet danger', type: 'button', 'aria-label': `Delete ${name}`, onclick: remove },
      'Delete',
    ),
  ];
}

function edit(group) {
  const dialog = byId('edit');
  const form = byId('edit-form');
  const field = (name) => form.elements.namedItem(name);
  field('name').value = group.name;
  field('description').value = group.description ?? '';
  field('is_active').checked = group.is_active;
  dialog.returnValue = 'cancel';
  dialog.addEventListener(
    'close',
    async () => {
      if (dialog.returnValue !== 'save') return;
      const props = {
        description: field('description').value,
        is_active: field('is_active').checked,
        ...(field('name').value !== group.name && { name: field('name').value }),
      };
      if (await mutate(MODIFY, { name: group.name, props }, `Changed ${group.name}`)) list.focus();
    },
    { once: true },
  );
  dialog.showModal();
}

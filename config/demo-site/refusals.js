import { send } from './api.js';
import { byId, element, whileBusy } from './element.js';
import { graphql } from './groups.js';
import { hasRole } from './identity.js';
import { showReply, showText } from './result.js';
import { enterAsVisitor } from './session.js';

const INTRUDE = `mutation { create_group(name: "intruders", props: { domain_name: "default" }) { ok msg } }`;

/** Requests the gateway refuses. `needs` says whose session shows it: a visitor's, anybody's, or none. */
const REFUSALS = [
  {
    label: 'No session',
    request: 'GET /v2',
    attempt: () => send('GET', '/v2', { anonymous: true }),
  },
  {
    label: 'A visitor as administrator',
    request: 'create_group',
    needs: 'visitor',
    attempt: () => graphql(INTRUDE),
  },
  {
    label: 'Somebody else’s key',
    request: 'owner_access_key=…',
    needs: 'visitor',
    attempt: () => send('GET', '/v2?owner_access_key=AKIASOMEBODYELSE0000'),
  },
  {
    label: 'Unknown path',
    request: 'GET /v9/nowhere',
    attempt: () => send('GET', '/v9/nowhere'),
  },
  {
    label: 'Ambiguous target',
    request: 'GET /v2//x',
    attempt: () => send('GET', '/v2//x'),
  },
  {
    label: 'Wrong content type',
    request: 'text/plain',
    needs: 'session',
    attempt: () => send('POST', '/v2/kernel/create', { json: {}, type: 'text/plain' }),
  },
  {
    label: 'Several queries at once',
    request: 'POST [{…}, {…}]',
    needs: 'session',
    attempt: () => send('POST', '/v2/admin/gql', { json: [{ query: '{ groups { name } }' }, { query: INTRUDE }] }),
  },
  {
    label: 'Wrong password',
    request: 'POST /-/session',
    attempt: () => send('POST', '/-/session', { json: { method: 'password', username: 'admin', password: 'guess' } }),
  },
];

export function startRefusals() {
  const output = byId('refusal-result');
  showText(output, 'Pick one. The problem that comes back is shown here.');
  byId('refusals').append(
    ...REFUSALS.map((refusal) =>
      element(
        'li',
        {},
        element(
          'button',
          { class: 'tile', type: 'button', onclick: (event) => provoke(event.currentTarget, refusal, output) },
          element('span', {}, refusal.label),
          element('code', {}, refusal.request),
        ),
      ),
    ),
  );
}

function provoke(tile, refusal, output) {
  return whileBusy(tile, async () => {
    for (const other of document.querySelectorAll('.tile')) other.removeAttribute('aria-current');
    tile.setAttribute('aria-current', 'true');
    if (!hasSessionFor(refusal)) askForVisitor(tile, refusal, output);
    else showReply(output, await refusal.attempt(), 'It was let through');
  });
}

function hasSessionFor({ needs }) {
  return needs === undefined || hasRole('visitor') || (needs === 'session' && hasRole('admin'));
}

function askForVisitor(tile, refusal, output) {
  const enter = async () => {
    const reply = await enterAsVisitor();
    // The button goes with the text it stands in, so the keyboard's focus returns to where it came from.
    tile.focus();
    if (reply.ok) await provoke(tile, refusal, output);
    else showReply(output, reply);
  };
  const button = element('button', { type: 'button', onclick: enter }, 'Enter as a visitor and try');
  showText(
    output,
    refusal.needs === 'visitor' ? 'This one takes a visitor’s session.' : 'This one takes a session.',
    button,
  );
}

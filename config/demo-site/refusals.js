import { send } from './api.js';
import { byId, element, whileBusy } from './element.js';
import { graphql } from './groups.js';
import { hasRole } from './identity.js';
import { showReply, showText } from './result.js';
import { enterAsVisitor } from './session.js';

const INTRUDE = `mutation { create_group(name: "intruders", props: { domain_name: "default" }) { ok msg } }`;

/** Requests the gateway refuses, by tile. `needs` says whose session shows it: a visitor's, anybody's, or none. */
const REFUSALS = {
  'no-session': { attempt: () => send('GET', '/v2', { anonymous: true }) },
  'visitor-as-administrator': { needs: 'visitor', attempt: () => graphql(INTRUDE) },
  'other-key': { needs: 'visitor', attempt: () => send('GET', '/v2?owner_access_key=AKIASOMEBODYELSE0000') },
  'unknown-path': { attempt: () => send('GET', '/v9/nowhere') },
  'ambiguous-target': { attempt: () => send('GET', '/v2//x') },
  'content-type': {
    needs: 'session',
    attempt: () => send('POST', '/v2/kernel/create', { json: {}, type: 'text/plain' }),
  },
  batch: {
    needs: 'session',
    attempt: () => send('POST', '/v2/admin/gql', { json: [{ query: '{ groups { name } }' }, { query: INTRUDE }] }),
  },
  'wrong-password': {
    attempt: () => send('POST', '/-/session', { json: { method: 'password', username: 'admin', password: 'guess' } }),
  },
};

const tiles = document.querySelectorAll('[data-refusal]');

export function startRefusals() {
  const output = byId('refusal-result');
  showText(output, 'Pick one. The problem that comes back is shown here.');
  for (const tile of tiles) {
    tile.addEventListener('click', () => provoke(tile, REFUSALS[tile.dataset.refusal], output));
  }
}

function provoke(tile, refusal, output) {
  return whileBusy(tile, async () => {
    for (const other of tiles) other.removeAttribute('aria-current');
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

import { send } from './api.js';
import { byId, whileBusy } from './element.js';
import { adoptSession, onSession } from './identity.js';
import { showReply, showText } from './result.js';

export async function enterAsVisitor() {
  return logIn({ method: 'visitor' }, 'Welcome, visitor');
}

export async function refreshSession() {
  const reply = await send('GET', '/-/session');
  if (reply.ok) adoptSession(reply.data);
  else showReply(byId('session-result'), reply);
}

export function startSession() {
  const output = byId('session-result');
  onSession(showSession);
  showText(output, 'Choose a way in. Both are requests to this page’s own origin.');

  byId('visitor').addEventListener('click', (event) => whileBusy(event.currentTarget, enterAsVisitor));

  byId('password').addEventListener('submit', (event) => {
    event.preventDefault();
    const { username, password } = Object.fromEntries(new FormData(event.currentTarget));
    const button = event.currentTarget.querySelector('button');
    whileBusy(button, () => logIn({ method: 'password', username, password }, `Welcome, ${username}`));
  });

  byId('sign-out').addEventListener('click', (event) =>
    whileBusy(event.currentTarget, async () => {
      const reply = await send('DELETE', '/-/session');
      showReply(output, reply, 'Signed out');
      await refreshSession();
      byId('visitor').focus();
    }),
  );
}

async function logIn(credentials, welcome) {
  const reply = await send('POST', '/-/session', { json: credentials });
  if (reply.ok) await refreshSession();
  showReply(byId('session-result'), reply, welcome);
  return reply;
}

function showSession(next) {
  const name = next.subject ?? (next.authenticated ? 'a visitor' : 'nobody');
  const facts = {
    subject: name,
    roles: next.roles.join(', ') || 'none',
    idle: clockTime(next.idleExpiresAt),
    absolute: clockTime(next.expiresAt),
  };
  for (const [fact, text] of Object.entries(facts)) {
    document.querySelector(`[data-fact="${fact}"]`).textContent = text;
  }
  byId('who').textContent = next.authenticated ? name : 'Not signed in';
  byId('sign-out').disabled = !next.authenticated;
}

const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const DAY_AND_TIME = new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: '2-digit', minute: '2-digit' });

function clockTime(text) {
  if (text === undefined) return '–';
  const instant = new Date(text);
  const isToday = instant.toDateString() === new Date().toDateString();
  return (isToday ? TIME : DAY_AND_TIME).format(instant);
}

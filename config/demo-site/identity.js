/** What `GET /-/session` says; nobody until it has been asked. */
let session = { authenticated: false, roles: [] };
const listeners = new Set();

/** @param {(session: {authenticated: boolean, roles: string[]}) => void} listener also told now */
export function onSession(listener) {
  listeners.add(listener);
  listener(session);
}

export function hasRole(role) {
  return session.roles.includes(role);
}

/** The role whose keypair signs, in words. */
export function signedInAs() {
  return session.roles[0] ?? 'caller’s';
}

export function adoptSession(next) {
  session = next;
  for (const listener of listeners) listener(session);
}

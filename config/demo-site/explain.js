import { signedInAs } from './identity.js';

/** What the gateway did with a request, in one line. */
export function explain(reply) {
  if (reply.status === 0) return 'Nothing came back.';
  if (reply.relayed) return `Cookie taken off, signed with the ${signedInAs()} keypair, answered by the Service.`;
  if (!reply.ok) return 'Refused at the gateway: nothing was signed, nothing was sent on.';
  if (reply.method === 'POST') return 'The gateway set a session cookie. No key left it.';
  if (reply.method === 'DELETE') return 'The gateway ended the session and cleared the cookie.';
  return 'Answered by the gateway itself.';
}

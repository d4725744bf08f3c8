import { ask, unexpected } from '../ask.ts';

/** Where the signing peers of our own give out a session to whoever asks. */
export const LOGIN_PATH = '/login';

/** The Cookie header of a new session. */
export async function signInAt(port: number): Promise<string> {
  const answer = await ask(port, { method: 'POST', path: LOGIN_PATH, headers: {} });
  const [cookie] = answer.headers['set-cookie'] ?? [];
  if (answer.status !== 204 || cookie === undefined) throw unexpected('the login', answer);
  return cookie.split(';', 1)[0] as string;
}

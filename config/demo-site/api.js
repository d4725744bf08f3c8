/**
 * Requests of this page: same origin, a cookie the page never sees, and JSON. Everything the demo shows of a request
 * is in the reply, so whoever wants to know of requests listens here.
 *
 * @typedef {object} Reply
 * @property {string} method
 * @property {string} path
 * @property {boolean} anonymous  sent without the cookie
 * @property {Date} at          when it was sent
 * @property {number} ms        until the whole answer was there
 * @property {number} status    0 when there was no answer
 * @property {boolean} ok
 * @property {any} data         the JSON body, if that is what came
 * @property {{code: string, title: string, detail: string} | undefined} problem
 * @property {string | undefined} requestId
 * @property {boolean} relayed  the Service answered, not the gateway
 * @property {{limit: number, remaining: number, reset: number} | undefined} quota  of a relayed answer
 */

const listeners = new Set();

/** @param {(reply: Reply) => void} listener */
export function onReply(listener) {
  listeners.add(listener);
}

/**
 * Never rejects: no answer at all is a reply, too. `anonymous` leaves the cookie out.
 *
 * @returns {Promise<Reply>}
 */
export async function send(method, path, { json, type = 'application/json', anonymous = false } = {}) {
  const request = { method, path, anonymous, at: new Date() };
  const started = performance.now();
  let reply;
  try {
    const response = await fetch(path, {
      method,
      credentials: anonymous ? 'omit' : 'same-origin',
      cache: 'no-store',
      headers: { Accept: 'application/json', ...(json !== undefined && { 'Content-Type': type }) },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    });
    const data = parsed(await response.text());
    reply = { ...request, ...read(response, path, data) };
  } catch (error) {
    const detail = `The gateway cannot be reached: ${error.message}. Is it still running?`;
    const problem = { code: 'no-answer', title: 'No answer', detail };
    reply = { ...request, status: 0, ok: false, relayed: false, problem };
  }
  reply.ms = performance.now() - started;
  for (const listener of listeners) listener(reply);
  return reply;
}

function read(response, path, data) {
  const isProblem = response.headers.get('Content-Type')?.startsWith('application/problem+json') ?? false;
  // A problem of the gateway names its request in `instance`; the Service's own have no such member.
  const relayed = path.startsWith('/v2') && !(isProblem && data?.instance);
  return {
    status: response.status,
    ok: response.ok,
    data,
    problem: response.ok ? undefined : problemOf(response, data),
    requestId: data?.instance ?? response.headers.get('X-Request-ID') ?? undefined,
    relayed,
    quota: relayed ? quotaOf(response.headers) : undefined,
  };
}

function problemOf(response, data) {
  return {
    code: data?.type?.split('/').at(-1) ?? String(response.status),
    title: data?.title ?? response.statusText,
    detail: data?.detail ?? data?.errors?.[0]?.message ?? 'The answer says no more.',
  };
}

function quotaOf(headers) {
  const [limit, remaining, reset] = ['Limit', 'Remaining', 'Reset'].map((name) => headers.get(`X-RateLimit-${name}`));
  return limit && remaining ? { limit: Number(limit), remaining: Number(remaining), reset: Number(reset) } : undefined;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

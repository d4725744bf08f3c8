import { added, type BrokenGateway, isProblem, resigned } from './flaw.ts';
import { Message } from './message.ts';
import type { Sabotage } from './saboteur.ts';

const NOTHING = Buffer.alloc(0);

/** Flaws of less weight: with them there is one for each check. */
export const LESS_BROKEN: readonly BrokenGateway[] = [
  {
    flaw: 'livez that is not served',
    caughtBy: 'edge.livez',
    front: onReply('GET', '/-/livez', (reply) => status(reply, 404)),
  },
  {
    flaw: 'a page in the place of 404',
    caughtBy: 'edge.no-route',
    front: onReply('GET', '/-/smoke-no-such-path', (reply) => {
      status(reply, 200);
      reply.set('Content-Type', 'text/html');
    }),
  },
  {
    flaw: '405 without Allow',
    caughtBy: 'edge.unknown-method',
    front: onReply('PROPFIND', '/v2', (reply) => reply.drop('allow')),
  },
  {
    flaw: 'preflight that lets its own origin down',
    caughtBy: 'edge.cors-own',
    front: onReply('OPTIONS', '/v2', (reply) => reply.drop('access-control-allow-origin')),
  },
  {
    flaw: 'Host of another tenant',
    caughtBy: 'edge.tenant',
    front: onReply('GET', '/-/session', (reply, request) => {
      if (request.value('cookie') === undefined) body(reply, '"tenant":"smoke"', '"tenant":"other"');
    }),
  },
  {
    flaw: 'problem that keeps quiet about the edge’s limit',
    caughtBy: 'problem.edge-limit',
    front: () => ({ response: (reply) => reply.drop('ratelimit') }),
  },
  {
    flaw: 'nobody told from somebody by no Boolean',
    caughtBy: 'session.anonymous',
    front: onReply('GET', '/-/session', (reply, request) => {
      if (request.value('cookie') === undefined) body(reply, '"roles":[]', '"roles":[],"authenticated":"no"');
    }),
  },
  {
    flaw: 'login that is over when it begins',
    caughtBy: 'session.login',
    front: onReply('POST', '/-/session', (reply) => body(reply, /"expiresAt":"\d{4}/, '"expiresAt":"2001')),
  },
  {
    flaw: 'session described for a cache',
    caughtBy: 'session.describes',
    front: onReply('GET', '/-/session', (reply) => reply.drop('cache-control')),
  },
  {
    flaw: 'list that does not know the current session',
    caughtBy: 'session.list',
    front: onReply('GET', '/-/sessions', (reply) => {
      if (reply.body.includes('"visitor"')) body(reply, '"current":true', '"current":false');
    }),
  },
  {
    flaw: 'one session ended in word only',
    caughtBy: 'session.end-one',
    front: onRequest('DELETE', /^\/-\/sessions\/(?!smoke)/, () => new Message('HTTP/1.1 204 No Content', NOTHING)),
  },
  {
    flaw: 'other sessions ended in word only',
    caughtBy: 'session.end-others',
    front: onRequest('DELETE', /^\/-\/sessions$/, () => new Message('HTTP/1.1 204 No Content', NOTHING)),
  },
  {
    flaw: 'one cookie for all tenants',
    caughtBy: 'session.other-tenant',
    front: sharedCookies,
  },
  {
    flaw: 'sign-out that leaves the cookie',
    caughtBy: 'session.logout',
    front: onReply('DELETE', '/-/session', (reply) => {
      if (reply.status === 204) reply.drop('set-cookie');
    }),
  },
  {
    flaw: 'a wrong login method taken for a wrong password',
    caughtBy: 'session.unknown-method',
    front: onReply('POST', '/-/session', (reply) => body(reply, '/unknown-login-method"', '/invalid-credentials"')),
  },
  {
    flaw: 'an unknown name told from a wrong password',
    caughtBy: 'session.wrong-password',
    front: onReply('POST', '/-/session', (reply) => body(reply, '/invalid-credentials"', '/unknown-user"')),
  },
  { flaw: 'short ids that can be guessed', caughtBy: 'cookie.id', front: shortIds },
  {
    flaw: 'a session for a forged cookie',
    caughtBy: 'cookie.malformed',
    front: onRequest('GET', /^\/v2$/, (request) => {
      if (request.value('cookie') !== 'session=smoke') return undefined;
      return new Message('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2', Buffer.from('{}'));
    }),
  },
  {
    flaw: 'the front end itself refused',
    caughtBy: 'csrf.own',
    front: onRequest('POST', /^\/-\/session$/, (request) => {
      if (request.value('x-countersign') === '1') request.set('Sec-Fetch-Site', 'cross-site');
      return undefined;
    }),
  },
  {
    flaw: 'absolute targets refused',
    caughtBy: 'target.absolute-form',
    front: onRequest('GET', /^http:\/\/smoke\.localhost/, (request) => {
      request.target = '/v2/../v2';
      return undefined;
    }),
  },
  {
    flaw: 'credential in another form',
    caughtBy: 'signing.authorization',
    back: () => ({
      request(request) {
        request.edit('authorization', (value) => value.replace('HMAC-SHA256, ', 'HMAC-SHA256,'));
        return undefined;
      },
    }),
  },
  {
    flaw: 'parameters of the Content-Type lost',
    caughtBy: 'signing.content-type',
    back: (identities) => ({
      request(request) {
        request.edit('content-type', (value) => value.split(';')[0]);
        return resigned(identities, { hashes: 'body' }).request?.(request);
      },
    }),
  },
  {
    flaw: 'another version than the tenant’s',
    caughtBy: 'signing.version',
    back: (identities) => resigned(identities, { hashes: 'body', version: 'v4.20190101' }),
  },
  {
    flaw: 'HEAD asked as GET',
    caughtBy: 'upstream.methods',
    back: (identities) => ({
      request(request) {
        if (request.method !== 'HEAD' || !request.target.startsWith('/v2/smoke')) return undefined;
        request.start = request.start.replace('HEAD', 'GET');
        return resigned(identities, {}).request?.(request);
      },
    }),
  },
  { flaw: 'a forged address passed on', caughtBy: 'upstream.allow-list', back: added('X-Real-IP', 'smoke-marker') },
  {
    flaw: 'languages lost',
    caughtBy: 'upstream.passed',
    back: () => ({
      request(request) {
        request.drop('accept-language');
        return undefined;
      },
    }),
  },
  {
    flaw: 'no trace context',
    caughtBy: 'upstream.forwarding',
    back: () => ({
      request(request) {
        request.drop('traceparent');
        return undefined;
      },
    }),
  },
  {
    flaw: 'version of another shape',
    caughtBy: 'service.version',
    front: onReply('GET', '/v2', (reply) => body(reply, /"version":"v4\.\d+"/, '"version":4')),
  },
  { flaw: 'HEAD not answered', caughtBy: 'service.head', front: onReply('HEAD', '/v2', (reply) => status(reply, 405)) },
  {
    flaw: 'the Service’s problems cut short',
    caughtBy: 'service.problem',
    front: () => ({
      response(reply) {
        if (isProblem(reply) && !reply.body.includes('"instance"') && reply.status === 404)
          body(reply, /,"detail":"[^"]*"/, '');
      },
    }),
  },
  {
    flaw: 'kernels of the wrong access key',
    caughtBy: 'service.kernel',
    front: onReply('POST', '/v2/kernel/create', (reply) => body(reply, /"access_key":"\w+"/, '"access_key":"OTHER"')),
  },
  {
    flaw: 'REPORT without what it asks about',
    caughtBy: 'service.report',
    front: onReply('REPORT', '/v2/kernel', (reply) => body(reply, /"items":\[\{.*?\}\]/, '"items":[]')),
  },
  {
    flaw: 'links that lead away',
    caughtBy: 'service.links',
    front: () => ({
      response(reply, request) {
        if (request.target.startsWith('/v2/vfolder'))
          reply.edit('link', (value) => value.replaceAll('smoke.localhost', 'away.example'));
      },
    }),
  },
  {
    flaw: 'PATCH without effect',
    caughtBy: 'service.put-patch',
    front: onRequest('PATCH', /^\/v2\/vfolder\//, () => {
      const json = '{"name":"smoke"}';
      const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${json.length}`;
      return new Message(head, Buffer.from(json));
    }),
  },
  {
    flaw: '429 without Retry-After',
    caughtBy: 'rate.exhausted',
    front: () => ({
      response(reply) {
        if (reply.status === 429) reply.drop('retry-after');
      },
    }),
  },
  {
    flaw: 'a status of its own in the place of the Service’s',
    caughtBy: 'reply.verbatim',
    front: () => ({
      response(reply) {
        if (reply.status === 418) status(reply, 400);
      },
    }),
  },
  {
    flaw: 'several Links folded into one',
    caughtBy: 'reply.links',
    front: () => ({
      response(reply) {
        if (reply.values('link').length > 1) reply.set('Link', reply.values('link').join(', '));
      },
    }),
  },
  {
    flaw: 'an upstream’s silence passed on as 500',
    caughtBy: 'reply.no-answer',
    front: () => ({
      response(reply) {
        if (reply.status === 502) status(reply, 500);
      },
    }),
  },
  {
    flaw: 'an event stream that is cut off',
    caughtBy: 'reply.stream',
    front: () => ({ hangsUp: (reply) => reply.value('content-type') === 'text/event-stream' }),
  },
  { flaw: 'a WebSocket that outlives its session', caughtBy: 'upgrade.ended', front: () => ({ clings: true }) },
  {
    flaw: 'a role of another route let in',
    caughtBy: 'policy.role',
    front: onReply('GET', '/v2/admin/smoke', (reply) => status(reply, 200)),
  },
  {
    flaw: 'a body beyond the limit cut down to it',
    caughtBy: 'policy.body-size',
    front: onRequest('POST', /^\/v2\/small$/, (request) => {
      request.setBody('{}');
      return undefined;
    }),
  },
  {
    flaw: 'an administrator kept to its own scope',
    caughtBy: 'policy.owner-access-key-admin',
    front: onRequest('GET', /\?owner_access_key=AKIASMOKEVISITOR$/, (request) => {
      if (request.target.startsWith('/v2/kernel/')) request.target = request.target.split('?')[0] ?? '';
      return undefined;
    }),
  },
  {
    flaw: 'a group without its keypair',
    caughtBy: 'graphql.groups',
    front: onReply('POST', '/v2/admin/gql', (reply) => body(reply, /"keypair":\{[^}]*\}/, '"keypair":null')),
  },
  {
    flaw: 'a failure told as a success',
    caughtBy: 'graphql.outcome',
    front: onReply('POST', '/v2/admin/gql', (reply, request) => {
      if (request.body.includes('is_active')) body(reply, '"ok":false', '"ok":true');
    }),
  },
  {
    flaw: 'a handshake without a session that is no 401',
    caughtBy: 'upgrade.unauthorized',
    front: onReply('GET', '/v2', (reply, request) => {
      if (request.value('upgrade') === 'websocket' && reply.status === 401)
        body(reply, '/unauthorized"', '/forbidden"');
    }),
  },
  {
    flaw: 'a handshake answered with another key',
    caughtBy: 'upgrade.echo',
    front: () => ({ response: (reply) => reply.edit('sec-websocket-accept', () => 'c21va2U=') }),
  },
];

function status(reply: Message, code: number): void {
  reply.start = `HTTP/1.1 ${code} Spoiled`;
}

function body(reply: Message, from: string | RegExp, to: string): void {
  if (reply.value('content-length') === undefined) return;
  reply.setBody(reply.body.toString().replace(from, to));
}

function onReply(method: string, target: string, spoil: (reply: Message, request: Message) => void): () => Sabotage {
  return () => ({
    response(reply, request) {
      if (request.method === method && request.target === target) spoil(reply, request);
    },
  });
}

function onRequest(method: string, target: RegExp, spoil: (request: Message) => Message | undefined): () => Sabotage {
  return () => ({
    request: (request) => (request.method === method && target.test(request.target) ? spoil(request) : undefined),
  });
}

/** Asks the tenant that gave a cookie, whatever the Host. */
function sharedCookies(): Sabotage {
  const hosts = new Map<string, string>();
  return {
    request(request) {
      const host = hosts.get(request.value('cookie') ?? '');
      if (host !== undefined) request.set('Host', host);
      return undefined;
    },
    response(reply, request) {
      const cookie = reply.value('set-cookie')?.split(';', 1)[0];
      if (cookie !== undefined && reply.status === 201) hosts.set(cookie, request.value('host') ?? '');
    },
  };
}

/** Numbers the sessions, and goes on with the real ids behind the scenes. */
function shortIds(): Sabotage {
  const realId = new Map<string, string>();
  return {
    request(request) {
      request.edit('cookie', (cookie) => realId.get(cookie) ?? cookie);
      return undefined;
    },
    response(reply) {
      if (reply.status !== 201) return;
      reply.edit('set-cookie', (value) => {
        const [pair = '', ...attributes] = value.split(';');
        const short = pair.replace(/=.*/, `=${realId.size}`);
        realId.set(short, pair);
        return [short, ...attributes].join(';');
      });
    },
  };
}
